import { bitsOf, type BlockLayout, dependsOn, type TensorFormat } from '../../formats/index.ts';

/**
 * How GPUs keep a quantized format: groups of 32 neighbouring elements of a row, whose bits lie in a few planes one after the
 * other, so that lanes load side by side. Values are those of the file's blocks, bit for bit; only the places differ.
 */
export interface PackedGroups {
  readonly quants: PackedQuants;
  readonly scales: ScaleKind;
  /** Groups that share a scale, where `scales` is `half`. */
  readonly span: number;
  /** Whether a group's first 16 elements and its last 16 have scales of their own. */
  readonly halves: boolean;
  readonly mins: boolean;
  /** A level is what kernels multiply less this. */
  readonly offset: number;
  /** What kernels multiply are signed bytes, not numbers below 64. */
  readonly signed: boolean;
  /** A factor of all scales that the planes do not hold. */
  readonly unit: number;
  readonly blockGroups: number;
  readonly blockBytes: number;
  /** How much larger weights are made as f16, so that small ones are not subnormal and large ones not infinite. */
  readonly weightScale: number;
}

/** Elements with codes of so many bits, or entries of a codebook for runs of elements with a bit each that changes their levels. */
export type PackedQuants =
  | { readonly kind: 'bits'; readonly bits: 1 | 2 | 3 | 4 | 5 | 6 | 8 }
  | {
      readonly kind: 'grid';
      readonly width: 4 | 8;
      /** Bits of an entry's number beyond eight. */
      readonly highBits: 0 | 1 | 2 | 3;
      readonly change: 'signs' | 'shift';
    };

/**
 * What scales a group: `half` an f16 value for some groups; `half-pair` halves of scale and min; `exponent` a power of two in
 * a byte; `small-floats` a byte each half, three of its bits a mantissa; under a half for eight groups: `signed-bytes` a byte
 * each half, `odd-nibbles` four bits each half that stand for odd numbers; under two halves: `byte-pair` bytes of scale and min,
 * `nibble-pairs` four bits of both each half.
 */
export type ScaleKind =
  | 'half'
  | 'half-pair'
  | 'exponent'
  | 'small-floats'
  | 'signed-bytes'
  | 'odd-nibbles'
  | 'byte-pair'
  | 'nibble-pairs';

/** Bytes that a group's own scales take, and the share of eight groups. */
export const SCALE_BYTES: Readonly<Record<ScaleKind, readonly [own: number, shared: number]>> = {
  half: [2, 0],
  'half-pair': [4, 0],
  exponent: [1, 0],
  'small-floats': [2, 0],
  'signed-bytes': [2, 2],
  'odd-nibbles': [1, 2],
  'byte-pair': [2, 4],
  'nibble-pairs': [2, 4],
};

/** Bytes that a group's quants take in each plane. */
const CODE_PLANES = { 1: [4], 2: [8], 3: [8, 4], 4: [16], 5: [16, 4], 6: [16, 8], 8: [16, 16] } as const;

/** Bytes a group of the planes of quants. */
export function quantPlanes(quants: PackedQuants): readonly number[] {
  if (quants.kind === 'bits') return CODE_PLANES[quants.bits];
  const { width, highBits, change } = quants;
  const runs = 32 / width;
  const high = Math.ceil((highBits * runs + (change === 'shift' ? runs : 0)) / 8);
  return [runs, ...(high > 0 ? [high] : []), ...(change === 'signs' ? [4] : [])];
}

/** Elements whose f16 products would overflow if weights were made larger: half of an E4M3 number times 12 is 2688. */
const LARGE_WEIGHTS = 1;
const USUAL_WEIGHTS = 64;

const known = new Map<TensorFormat, PackedGroups | undefined>();

/** How GPUs keep a format; undefined for one whose elements are numbers of their own. */
export function packedGroups(format: TensorFormat): PackedGroups | undefined {
  if (!known.has(format)) known.set(format, format.layout && groupsOf(format, format.layout));
  return known.get(format);
}

function groupsOf({ blockElements, blockBytes }: TensorFormat, layout: BlockLayout): PackedGroups {
  const { scale, min } = layout;
  const blockGroups = blockElements / 32;
  const scales = scaleKind(layout);
  return {
    ...quantsOf(layout),
    scales,
    span: scales === 'half' ? blockGroups : 1,
    halves: dependsOn(scale.sub?.number ?? scale.number, 4),
    mins: min !== undefined,
    unit: scale.unit ?? 1,
    blockGroups,
    blockBytes,
    weightScale: scale.as === 'e4m3' ? LARGE_WEIGHTS : USUAL_WEIGHTS,
  };
}

function quantsOf({ levels }: BlockLayout): Pick<PackedGroups, 'quants' | 'offset' | 'signed'> {
  if (levels.kind === 'grid') {
    const { width, entry, change } = levels;
    const highBits = (bitsOf(entry) - 8) as 0 | 1 | 2 | 3;
    const shifts = change.kind === 'shift';
    return {
      quants: { kind: 'grid', width, highBits, change: change.kind },
      offset: shifts ? 9 : 0,
      signed: !shifts,
    };
  }
  const { code, level } = levels;
  const bits = ('runs' in code ? 2 : bitsOf(code)) as 1 | 2 | 3 | 4 | 5 | 6 | 8;
  const linear = level.kind === 'linear';
  return { quants: { kind: 'bits', bits }, offset: linear ? level.less : 0, signed: !linear };
}

function scaleKind({ scale, min }: BlockLayout): ScaleKind {
  if (scale.as === 'e8m0') return 'exponent';
  if (scale.as === 'e4m3') return 'small-floats';
  if (!scale.sub) return min ? 'half-pair' : 'half';
  if (scale.sub.as === 'odd') return 'odd-nibbles';
  if (!min) return 'signed-bytes';
  return bitsOf(scale.sub.number) === 4 ? 'nibble-pairs' : 'byte-pair';
}
