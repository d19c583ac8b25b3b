/**
 * How a quantized format's block is built, as data: what the unpack code of every device is generated from. A block holds
 * `scale * level` or `scale * level + min` for each element; where its bits stand depends on the element's number alone.
 */
export interface BlockLayout {
  readonly levels: CodeLevels | GridLevels;
  readonly scale: BlockScale;
  /** What is added to `scale * level`; absent where nothing is. */
  readonly min?: BlockMin;
}

/**
 * Some bits of a block: which ones depends on the element's number. `at` is the first one's place for element 0, in bits from
 * the block's start, and `steps[k]` by how many bits bit k of the number moves it (absent ones do not).
 */
export interface BitField {
  readonly at: number;
  readonly bits: number;
  readonly steps: readonly number[];
}

/** A number that stands at one place where a bit of the element's number is clear, and at another where it is set. */
export interface EitherField {
  readonly bit: number;
  readonly clear: readonly BitField[];
  readonly set: readonly BitField[];
}

/** A number put together of fields, the lowest bits first. */
export type BlockNumber = readonly BitField[] | EitherField;

/**
 * Ternary digits packed as base-3 fractions of 256: a byte times 3 has its first digit in front of the point. Elements go
 * through the bytes of a run digit by digit, run after run.
 */
export interface TernaryDigits {
  readonly runs: readonly { readonly start: number; readonly bytes: number; readonly digits: number }[];
}

/** Elements with a code each. */
export interface CodeLevels {
  readonly kind: 'codes';
  readonly code: BlockNumber | TernaryDigits;
  /** A level is `step * code - less`, the code read as signed (two's complement), or the table's entry. */
  readonly level:
    | { readonly kind: 'linear'; readonly step: number; readonly less: number }
    | { readonly kind: 'signed' }
    | { readonly kind: 'table'; readonly table: Int8Array };
}

/** Runs of elements whose levels are an entry of a codebook. */
export interface GridLevels {
  readonly kind: 'grid';
  /** Entry `i` is `width` levels at `i * width`. */
  readonly book: () => Int8Array;
  readonly width: 4 | 8;
  readonly entry: readonly BitField[];
  /**
   * A bit for each of eight elements that says which levels are negated; `even` where there are seven and the number of
   * negated ones is even. Or a bit a run: a level is eight times the book's, and one more, or one less where the bit is set.
   */
  readonly change:
    | { readonly kind: 'signs'; readonly signs: readonly BitField[]; readonly even: boolean }
    | { readonly kind: 'shift'; readonly down: readonly BitField[] };
}

/** A scale of `unit * number * sub`. */
export interface BlockScale {
  /** A half float; half of a power of two (E8M0); half of a number without sign of three mantissa bits (E4M3). */
  readonly as: 'half' | 'e8m0' | 'e4m3';
  readonly number: readonly BitField[];
  readonly unit?: number;
  readonly sub?: {
    readonly number: BlockNumber;
    /** A number stands for itself less so much, read as signed (two's complement), or for twice itself and one. */
    readonly as: { readonly less: number } | 'signed' | 'odd';
  };
}

/** A half float, or where there is `sub` a half float times a number without sign, taken off. */
export interface BlockMin {
  readonly number: readonly BitField[];
  readonly sub?: BlockNumber;
}

/** A field of `bits` bits, that of element 0 at bit `bit` of byte `byte`. */
export function field(byte: number, bits: number, steps: readonly number[] = [], bit = 0): BitField {
  return { at: 8 * byte + bit, bits, steps };
}

/** Steps of 16 neighbouring elements in neighbouring bytes. */
export const BYTES_16 = [8, 16, 32, 64] as const;

/** Steps of 32 of them. */
export const BYTES_32 = [...BYTES_16, 128] as const;

/** Steps of a byte each 32 elements. */
export const EACH_32 = [0, 0, 0, 0, 0, 8, 16, 32] as const;

/** Numbers of 16 bits at a byte. */
export function halfField(byte: number): readonly BitField[] {
  return [field(byte, 16)];
}

/** The bits of a number of fields. */
export function bitsOf(number: BlockNumber): number {
  const fields = 'bit' in number ? number.clear : number;
  return fields.reduce((sum, { bits }) => sum + bits, 0);
}

/** True where a number depends on bit `k` of the element's. */
export function dependsOn(number: BlockNumber, k: number): boolean {
  if ('bit' in number) return number.bit === k || dependsOn(number.clear, k) || dependsOn(number.set, k);
  return number.some(({ steps }) => (steps[k] ?? 0) !== 0);
}
