import type { LazyCodebook } from './codebook.ts';

/**
 * The layout of a quantized format's block as data, from which the unpacking code of every device is generated. A block
 * holds `scale * level` or `scale * level + min` for each element; the positions of its bits depend only on the
 * element's index.
 */
export interface BlockLayout {
  readonly levels: CodeLevels | GridLevels;
  readonly scale: BlockScale;
  /** Added to `scale * level`; absent if nothing is. */
  readonly min?: BlockMin;
}

/**
 * Bits of a block whose position depends on the element's index. `at` is the position for element 0, in bits from the
 * block's start, and bit k of the index, if set, adds `steps[k]` bits (missing steps are 0).
 */
export interface BitField {
  readonly at: number;
  readonly bits: number;
  readonly steps: readonly number[];
}

/** A number stored at one position if a bit of the element's index is clear, and at another if it is set. */
export interface EitherField {
  readonly bit: number;
  readonly clear: readonly BitField[];
  readonly set: readonly BitField[];
}

/** A number composed of fields, the lowest bits first. */
export type BlockNumber = readonly BitField[] | EitherField;

/**
 * Ternary digits packed as base-3 fractions of 256: multiplying a byte by 3 moves its first digit in front of the
 * point. Elements go through the bytes of a run digit by digit, run after run.
 */
export interface TernaryDigits {
  readonly runs: readonly { readonly start: number; readonly bytes: number; readonly digits: number }[];
}

/** Elements with one code each. */
export interface CodeLevels {
  readonly kind: 'codes';
  readonly code: BlockNumber | TernaryDigits;
  /** A level is `step * code - less`, the code as a signed number (two's complement), or the table's entry. */
  readonly level:
    | { readonly kind: 'linear'; readonly step: number; readonly less: number }
    | { readonly kind: 'signed' }
    | { readonly kind: 'table'; readonly table: Int8Array };
}

/** Runs of elements whose levels form an entry of a codebook. */
export interface GridLevels {
  readonly kind: 'grid';
  /** Entry `i` is `width` levels at `i * width`. */
  readonly book: LazyCodebook;
  readonly width: 4 | 8;
  readonly entry: readonly BitField[];
  /**
   * Signs: one bit for each of eight elements, set if its level is negated; if `even`, only seven are stored, and the
   * number of negated levels is even. Shift: one bit per run; a level is eight times the codebook's plus one, or minus
   * one if the bit is set.
   */
  readonly change:
    | { readonly kind: 'signs'; readonly signs: readonly BitField[]; readonly even: boolean }
    | { readonly kind: 'shift'; readonly down: readonly BitField[] };
}

/** A scale of `unit * number * sub`. */
export interface BlockScale {
  /** An f16; half of a power of two (E8M0); half of an unsigned number with three mantissa bits (E4M3). */
  readonly as: 'half' | 'e8m0' | 'e4m3';
  readonly number: readonly BitField[];
  readonly unit?: number;
  readonly sub?: {
    readonly number: BlockNumber;
    /** The number minus `less`, as a signed number (two's complement), or twice the number plus one. */
    readonly as: { readonly less: number } | 'signed' | 'odd';
  };
}

/** An f16; with `sub`, an f16 times an unsigned number, subtracted. */
export interface BlockMin {
  readonly number: readonly BitField[];
  readonly sub?: BlockNumber;
}

/** A field of `bits` bits; for element 0 it is at bit `bit` of byte `byte`. */
export function field(byte: number, bits: number, steps: readonly number[] = [], bit = 0): BitField {
  return { at: 8 * byte + bit, bits, steps };
}

/** Steps of 16 consecutive elements in consecutive bytes. */
export const BYTES_16 = [8, 16, 32, 64] as const;

/** The same for 32 elements. */
export const BYTES_32 = [...BYTES_16, 128] as const;

/** Steps of one byte per 32 elements. */
export const EACH_32 = [0, 0, 0, 0, 0, 8, 16, 32] as const;

/** A 16-bit number at this byte. */
export function halfField(byte: number): readonly BitField[] {
  return [field(byte, 16)];
}

/** The number of bits of a number. */
export function bitsOf(number: BlockNumber): number {
  const fields = 'bit' in number ? number.clear : number;
  return fields.reduce((sum, { bits }) => sum + bits, 0);
}

/** Whether a number depends on bit `k` of the element's index. */
export function dependsOn(number: BlockNumber, k: number): boolean {
  if ('bit' in number) return number.bit === k || dependsOn(number.clear, k) || dependsOn(number.set, k);
  return number.some(({ steps }) => (steps[k] ?? 0) !== 0);
}
