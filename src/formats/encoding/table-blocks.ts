import { floatToHalf } from '../../base/half.ts';
import {
  type BlockSource,
  clear,
  extremeOf,
  type Group,
  groupOf,
  meanSquareOf,
  nearestWithin,
  squareOf,
} from './block-source.ts';
import type { FieldPacker } from './field-packer.ts';

const { fround } = Math;

const GROUP = 32;

/** Groups below this magnitude are zeros. */
const TINY = fround(1e-15);

/** Scales that are tried on either side of the one that the largest element asks for, one level apart. */
const CANDIDATES = 7;

/** A block of 32 elements `d * level[q]`, or of 256 whose groups of 32 have scales of six bits. */
export interface TableBlock {
  readonly blockBytes: number;
  readonly elements: 32 | 256;
  /** Ascending; the first one is of the largest magnitude. */
  readonly levels: Int8Array;
  readonly codes: FieldPacker;
  /** Where the scales of groups are, plus `SCALE_LESS`. */
  readonly scales?: FieldPacker;
}

const SCALE_LESS = 32;

/** Encodes a block whose levels are a table. The f16 scale is in its first bytes. */
export function encodeTableBlock(source: BlockSource, bytes: DataView, at: number, block: TableBlock): void {
  const variance = 2 * meanSquareOf(source.values, source.from, block.elements);
  const weights = new Float32Array(GROUP);
  const fits = Array.from({ length: block.elements / GROUP }, (_, group) =>
    fitTable(groupOf(source, GROUP * group, weights, variance, squareOf), block.levels),
  );
  clear(bytes, at, block.blockBytes);
  const scale = block.scales ? writeScales(fits, block.scales, bytes, at) : only(fits, bytes, at);
  const codes = new Uint8Array(block.elements);
  for (let i = 0; i < codes.length; i++) {
    const inverse = inverseOf(scale(i >> 5));
    codes[i] = levelIndex(block.levels, fround(inverse * (source.values[source.from + i] as number)));
  }
  block.codes.write(bytes, at, codes);
}

/** The scale of the only group. */
function only([fit = 0]: readonly number[], bytes: DataView, at: number): () => number {
  bytes.setUint16(at, floatToHalf(fit), true);
  return () => fit;
}

/** The scales of groups: the largest becomes -32 units. */
function writeScales(fits: readonly number[], to: FieldPacker, bytes: DataView, at: number) {
  const extreme = extremeOf(Float32Array.from(fits), 0, fits.length);
  const unit = fround(-extreme / SCALE_LESS);
  const inverse = inverseOf(unit);
  const numbers = fits.map((fit) => nearestWithin(fround(inverse * fit), -SCALE_LESS, SCALE_LESS - 1));
  bytes.setUint16(at, floatToHalf(unit), true);
  to.write(
    bytes,
    at,
    numbers.map((number) => number + SCALE_LESS),
  );
  return (group: number) => fround(unit * (numbers[group] as number));
}

function inverseOf(scale: number): number {
  return scale === 0 ? 0 : fround(1 / scale);
}

/**
 * The scale with which levels of the table come closest to a group, in weighted squares. Sums are f32 in the order of
 * ggml's `quantize_row_iq4_nl_impl`.
 */
function fitTable(group: Group, levels: Int8Array): number {
  const extreme = extremeOf(group.values, group.from, group.count);
  if (Math.abs(extreme) < TINY) return 0;
  const first = levels[0] as number;
  let { products, squares } = sumsOf(group, inverseOf(fround(-extreme / first)), levels);
  let scale = squares > 0 ? fround(products / squares) : 0;
  let best = fround(scale * products);
  for (let i = -CANDIDATES; i <= CANDIDATES; i++) {
    ({ products, squares } = sumsOf(group, fround((i + first) / extreme), levels));
    if (!(squares > 0 && fround(products * products) > fround(best * squares))) continue;
    scale = fround(products / squares);
    best = fround(scale * products);
  }
  return scale;
}

function sumsOf({ values, from, count, weights }: Group, inverse: number, levels: Int8Array) {
  let products = 0;
  let squares = 0;
  for (let i = 0; i < count; i++) {
    const value = values[from + i] as number;
    const level = levels[levelIndex(levels, fround(inverse * value))] as number;
    const weighed = fround((weights[i] as number) * level);
    products = fround(products + fround(weighed * value));
    squares = fround(squares + fround(weighed * level));
  }
  return { products, squares };
}

/** The index of the level nearest to a value, of two equally near ones the higher. */
function levelIndex(levels: Int8Array, value: number): number {
  const last = levels.length - 1;
  if (value <= (levels[0] as number)) return 0;
  if (value >= (levels[last] as number)) return last;
  let low = 0;
  let high = last;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (value < (levels[middle] as number)) high = middle;
    else low = middle;
  }
  const below = fround(value - (levels[low] as number));
  return below < fround((levels[high] as number) - value) ? low : high;
}
