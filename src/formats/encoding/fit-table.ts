import { extremeOf, type Group } from './block-source.ts';

const { fround } = Math;

/** Groups below this magnitude are zeros. */
const TINY = fround(1e-15);

/** Scales that are tried on either side of the one that the largest element asks for, one level apart. */
const CANDIDATES = 7;

/** The inverse of a scale; of none, none. */
export function inverseOf(scale: number): number {
  return scale === 0 ? 0 : fround(1 / scale);
}

/**
 * The scale with which levels of the table come closest to a group, in weighted squares. Sums are f32 in the order of
 * ggml's `quantize_row_iq4_nl_impl`.
 */
export function fitTable(group: Group, levels: Int8Array): number {
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
export function levelIndex(levels: Int8Array, value: number): number {
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
