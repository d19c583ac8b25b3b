import { bitsOf, type BlockLayout, dependsOn, type TensorFormat } from '../../formats/index.ts';

/**
 * How GPUs store a quantized format: groups of 32 consecutive elements of a row, whose bits are spread over a few
 * planes, so that adjacent lanes load adjacent data. Values are bit-identical to those of the file's blocks; only the
 * arrangement differs.
 */
export interface PackedGroups {
  readonly quants: PackedQuants;
  readonly scales: ScaleKind;
  /** Groups that share a scale, if `scales` is `half`. */
  readonly span: number;
  /** Whether the first and the last 16 elements of a group have separate scales. */
  readonly halves: boolean;
  readonly mins: boolean;
  /** Subtracted from what kernels multiply to get a level. */
  readonly offset: number;
  /** Whether kernels multiply signed bytes instead of numbers below 64. */
  readonly signed: boolean;
  /** A factor on all scales that is not stored in the planes. */
  readonly unit: number;
  readonly blockGroups: number;
  readonly blockBytes: number;
  /** Factor on weights that are decoded to f16, so that small ones are not subnormal and large ones not infinite. */
  readonly weightScale: number;
}

/**
 * Codes of so many bits per element, or codebook entries for runs of elements, with one bit each that modifies their
 * levels.
 */
export type PackedQuants =
  | { readonly kind: 'bits'; readonly bits: 1 | 2 | 3 | 4 | 5 | 6 | 8 }
  | {
      readonly kind: 'grid';
      readonly width: 4 | 8;
      /** Bits of an entry's index beyond eight. */
      readonly highBits: 0 | 1 | 2 | 3;
      readonly change: 'signs' | 'shift';
    };

/**
 * The scales of a group: `half` one f16 value for several groups; `half-pair` f16 scale and minimum; `exponent` a power
 * of two in a byte; `small-floats` one byte per half with a 3-bit mantissa; with an f16 scale for eight groups:
 * `signed-bytes` one byte per half, `odd-nibbles` four bits per half that represent odd numbers; with two f16 values:
 * `byte-pair` one byte each for scale and minimum, `nibble-pairs` four bits for each per half.
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

/** Bytes of a group's own scales, and its part of those shared by eight groups. */
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

/** Bytes per group in each plane of quants. */
const CODE_PLANES = { 1: [4], 2: [8], 3: [8, 4], 4: [16], 5: [16, 4], 6: [16, 8], 8: [16, 16] } as const;

/** Bytes per group in each plane of quants. */
export function quantPlanes(quants: PackedQuants): readonly number[] {
  if (quants.kind === 'bits') return CODE_PLANES[quants.bits];
  const { width, highBits, change } = quants;
  const runs = 32 / width;
  const high = Math.ceil((highBits * runs + (change === 'shift' ? runs : 0)) / 8);
  return [runs, ...(high > 0 ? [high] : []), ...(change === 'signs' ? [4] : [])];
}

/** Not scaled, because the f16 products would overflow: half of an E4M3 number times 12 is 2688. */
const LARGE_WEIGHTS = 1;
const USUAL_WEIGHTS = 64;

const known = new Map<TensorFormat, PackedGroups | undefined>();

/** How GPUs store a format; undefined for unquantized ones. */
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
