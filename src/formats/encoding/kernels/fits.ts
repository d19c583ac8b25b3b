/**
 * The searches of `fit-affine.ts`, `fit-signed.ts` and `fit-table.ts` for all groups of a block of 256 elements, four groups at a time: each lane is a
 * group, so that its sums have the order that they have there and every result is the same, bit by bit.
 */

/** Addresses: 256 elements, how much each one's error counts, and the results, a number for each group. */
const VALUES: usize = 0;
const WEIGHTS: usize = 1024;
const SCALES: usize = 2048;
const MINS: usize = 2112;

/** The four groups at hand, element by element, 16 bytes each: at most 32 elements. */
const LANE_VALUES: usize = 2176;
const LANE_WEIGHTS: usize = 2688;
const LANE_CODES: usize = 3200;

/** The levels of a table, f32. */
const LEVELS: usize = 3712;
const LEVEL_COUNT: usize = 16;

/** Scales of a table that are tried on either side of the one that the largest element asks for. */
const TABLE_CANDIDATES: i32 = 7;

const ELEMENTS: u32 = 256;

/** Groups below this magnitude are zeros. */
const TINY: f32 = 1e-15;

/** Inverse scales that are tried on either side of the one that the largest element asks for, and their distance. */
const CANDIDATES: i32 = 9;
const STEP: f32 = 0.1;

/** How often all codes are looked at again. */
const ROUNDS: u32 = 5;

/** Of groups of `size` elements, four from `first` on, element by element. */
function gather(from: usize, to: usize, first: u32, size: u32): void {
  const row = <usize>(size << 2);
  let at = from + <usize>first * row;
  for (let i: u32 = 0; i < size; i++) {
    let lanes = v128.load_zero<f32>(at);
    lanes = v128.load_lane<f32>(at + row, lanes, 1);
    lanes = v128.load_lane<f32>(at + 2 * row, lanes, 2);
    lanes = v128.load_lane<f32>(at + 3 * row, lanes, 3);
    v128.store(to, lanes);
    at += 4;
    to += 16;
  }
}

/** The nearest integers, of two equally near ones the even, from `low` to `high`. */
function nearestWithin(value: v128, low: v128, high: v128): v128 {
  const shift = f32x4.splat(12582912);
  const integer = f32x4.sub(f32x4.add(value, shift), shift);
  return f32x4.pmin(f32x4.pmax(integer, low), high);
}

/** A scale and a min for each group: the search of `fitAffine`. */
export function fitAffine(size: u32, limit: f32, from: f32, step: f32, count: u32, magnitudes: bool): void {
  for (let group: u32 = 0; group < ELEMENTS / size; group += 4) {
    gather(VALUES, LANE_VALUES, group, size);
    gather(WEIGHTS, LANE_WEIGHTS, group, size);
    affineOfFour(<usize>(group << 2), size, limit, from, step, count, magnitudes);
  }
}

function affineOfFour(
  to: usize,
  size: u32,
  limit: f32,
  from: f32,
  step: f32,
  count: u32,
  magnitudes: bool,
): void {
  const zero = f32x4.splat(0);
  let low = v128.load(LANE_VALUES);
  let high = low;
  let sumW = zero;
  let sumX = zero;
  for (let i: usize = 0; i < <usize>(size << 4); i += 16) {
    const value = v128.load(i, LANE_VALUES);
    const weight = v128.load(i, LANE_WEIGHTS);
    low = f32x4.pmin(low, value);
    high = f32x4.pmax(high, value);
    sumW = f32x4.add(sumW, weight);
    sumX = f32x4.add(sumX, f32x4.mul(weight, value));
  }
  // Zero is within the range, since a min is subtracted and never added.
  low = f32x4.min(low, zero);
  const flat = f32x4.le(high, low);
  const lowest = f32x4.neg(low);
  const inverse = f32x4.div(f32x4.splat(limit), f32x4.sub(high, low));
  let scale = f32x4.div(f32x4.splat(1), inverse);
  let min = lowest;
  storeCodes(size, inverse, low, limit);
  let best = errorOf(size, scale, min, magnitudes);
  for (let i: u32 = 0; i < count; i++) {
    const steps = from + step * <f32>i + limit;
    // Rounded from where the best fit so far has its zero: it may have moved.
    const start = f32x4.neg(min);
    const slope = f32x4.div(f32x4.splat(steps), f32x4.sub(high, start));
    let sumQ = zero;
    let sumQ2 = zero;
    let sumQX = zero;
    for (let at: usize = 0; at < <usize>(size << 4); at += 16) {
      const value = v128.load(at, LANE_VALUES);
      const code = nearestWithin(f32x4.mul(slope, f32x4.sub(value, start)), zero, f32x4.splat(limit));
      v128.store(at, code, LANE_CODES);
      const product = f32x4.mul(v128.load(at, LANE_WEIGHTS), code);
      sumQ = f32x4.add(sumQ, product);
      sumQ2 = f32x4.add(sumQ2, f32x4.mul(product, code));
      sumQX = f32x4.add(sumQX, f32x4.mul(product, value));
    }
    // Scale and min by least squares; there are none if the codes are all alike.
    const determinant = f32x4.sub(f32x4.mul(sumW, sumQ2), f32x4.mul(sumQ, sumQ));
    const zeroAt = f32x4.div(f32x4.sub(f32x4.mul(sumQ2, sumX), f32x4.mul(sumQ, sumQX)), determinant);
    const above = f32x4.gt(zeroAt, zero);
    const slanted = f32x4.div(f32x4.sub(f32x4.mul(sumW, sumQX), f32x4.mul(sumX, sumQ)), determinant);
    const newScale = v128.bitselect(f32x4.div(sumQX, sumQ2), slanted, above);
    const newMin = v128.bitselect(zero, f32x4.neg(zeroAt), above);
    const error = errorOf(size, newScale, newMin, magnitudes);
    const better = v128.and(f32x4.lt(error, best), f32x4.gt(determinant, zero));
    scale = v128.bitselect(newScale, scale, better);
    min = v128.bitselect(newMin, min, better);
    best = v128.bitselect(error, best, better);
  }
  v128.store(SCALES + to, v128.bitselect(zero, scale, flat));
  v128.store(MINS + to, v128.bitselect(lowest, min, flat));
}

function storeCodes(size: u32, inverse: v128, low: v128, limit: f32): void {
  for (let at: usize = 0; at < <usize>(size << 4); at += 16) {
    const multiple = f32x4.mul(inverse, f32x4.sub(v128.load(at, LANE_VALUES), low));
    v128.store(at, nearestWithin(multiple, f32x4.splat(0), f32x4.splat(limit)), LANE_CODES);
  }
}

function errorOf(size: u32, scale: v128, min: v128, magnitudes: bool): v128 {
  let sum = f32x4.splat(0);
  for (let at: usize = 0; at < <usize>(size << 4); at += 16) {
    const found = f32x4.sub(f32x4.mul(scale, v128.load(at, LANE_CODES)), min);
    const difference = f32x4.sub(found, v128.load(at, LANE_VALUES));
    const error = magnitudes ? f32x4.abs(difference) : f32x4.mul(difference, difference);
    sum = f32x4.add(sum, f32x4.mul(v128.load(at, LANE_WEIGHTS), error));
  }
  return sum;
}

/** The elements of largest magnitude of four groups, with their signs; the first among equals. */
function extremes(size: u32): v128 {
  let extreme = f32x4.splat(0);
  for (let at: usize = 0; at < <usize>(size << 4); at += 16) {
    const value = v128.load(at, LANE_VALUES);
    extreme = v128.bitselect(value, extreme, f32x4.gt(f32x4.abs(value), f32x4.abs(extreme)));
  }
  return extreme;
}

/** A scale for each group: the search of `fitSigned`. */
export function fitSigned(size: u32, limit: f32): void {
  for (let group: u32 = 0; group < ELEMENTS / size; group += 4) {
    gather(VALUES, LANE_VALUES, group, size);
    gather(WEIGHTS, LANE_WEIGHTS, group, size);
    signedOfFour(<usize>(group << 2), size, limit);
  }
}

function signedOfFour(to: usize, size: u32, limit: f32): void {
  const zero = f32x4.splat(0);
  const extreme = extremes(size);
  let scale = zero;
  let best = zero;
  for (let turn = 0; turn <= 2 * CANDIDATES; turn++) {
    // The scale that the largest element asks for comes first.
    const away = turn == 0 ? 0 : turn <= CANDIDATES ? turn - CANDIDATES - 1 : turn - CANDIDATES;
    const steps = -(limit + STEP * <f32>away);
    const inverse = f32x4.div(f32x4.splat(steps), extreme);
    let products = zero;
    let squares = zero;
    for (let at: usize = 0; at < <usize>(size << 4); at += 16) {
      const value = v128.load(at, LANE_VALUES);
      const weight = v128.load(at, LANE_WEIGHTS);
      const code = nearestWithin(f32x4.mul(inverse, value), f32x4.splat(-limit), f32x4.splat(limit - 1));
      products = f32x4.add(products, f32x4.mul(f32x4.mul(weight, value), code));
      squares = f32x4.add(squares, f32x4.mul(f32x4.mul(weight, code), code));
    }
    let better = f32x4.gt(squares, zero);
    if (turn > 0) {
      better = v128.and(better, f32x4.gt(f32x4.mul(products, products), f32x4.mul(best, squares)));
    }
    const newScale = f32x4.div(products, squares);
    scale = v128.bitselect(newScale, scale, better);
    best = v128.bitselect(f32x4.mul(newScale, products), best, better);
  }
  const isTiny = f32x4.lt(f32x4.abs(extreme), f32x4.splat(TINY));
  v128.store(SCALES + to, v128.bitselect(zero, scale, isTiny));
}

/** A scale for each group: the search of `refineSigned`. */
export function refineSigned(size: u32, limit: f32): void {
  for (let group: u32 = 0; group < ELEMENTS / size; group += 4) {
    gather(VALUES, LANE_VALUES, group, size);
    gather(WEIGHTS, LANE_WEIGHTS, group, size);
    refinedOfFour(<usize>(group << 2), size, limit);
  }
}

function refinedOfFour(to: usize, size: u32, limit: f32): void {
  const zero = f32x4.splat(0);
  const low = f32x4.splat(-limit);
  const high = f32x4.splat(limit - 1);
  const extreme = extremes(size);
  const inverse = f32x4.div(low, extreme);
  let products = zero;
  let squares = zero;
  for (let at: usize = 0; at < <usize>(size << 4); at += 16) {
    const value = v128.load(at, LANE_VALUES);
    const weight = v128.load(at, LANE_WEIGHTS);
    const code = nearestWithin(f32x4.mul(inverse, value), low, high);
    v128.store(at, code, LANE_CODES);
    products = f32x4.add(products, f32x4.mul(f32x4.mul(weight, value), code));
    squares = f32x4.add(squares, f32x4.mul(f32x4.mul(weight, code), code));
  }
  // A group that a round has not changed is not changed by the next one either.
  for (let round: u32 = 0; round < ROUNDS; round++) {
    let changed = zero;
    for (let at: usize = 0; at < <usize>(size << 4); at += 16) {
      const value = v128.load(at, LANE_VALUES);
      const weight = v128.load(at, LANE_WEIGHTS);
      const old = v128.load(at, LANE_CODES);
      const weighted = f32x4.mul(weight, value);
      const others = f32x4.sub(products, f32x4.mul(weighted, old));
      const otherSquares = f32x4.sub(squares, f32x4.mul(f32x4.mul(weight, old), old));
      const wish = f32x4.div(f32x4.mul(value, otherSquares), others);
      const code = nearestWithin(wish, low, high);
      const newProducts = f32x4.add(others, f32x4.mul(weighted, code));
      const newSquares = f32x4.add(otherSquares, f32x4.mul(f32x4.mul(weight, code), code));
      const gain = f32x4.gt(
        f32x4.mul(f32x4.mul(newProducts, newProducts), squares),
        f32x4.mul(f32x4.mul(products, products), newSquares),
      );
      const moves = v128.and(
        v128.and(f32x4.gt(others, zero), f32x4.ne(code, old)),
        v128.and(f32x4.gt(newSquares, zero), gain),
      );
      v128.store(at, v128.bitselect(code, old, moves), LANE_CODES);
      products = v128.bitselect(newProducts, products, moves);
      squares = v128.bitselect(newSquares, squares, moves);
      changed = v128.or(changed, moves);
    }
    if (!v128.any_true(changed)) break;
  }
  const isEmpty = v128.not(f32x4.gt(squares, zero));
  const isTiny = f32x4.lt(f32x4.abs(extreme), f32x4.splat(TINY));
  const scale = f32x4.div(products, squares);
  v128.store(SCALES + to, v128.bitselect(zero, scale, v128.or(isEmpty, isTiny)));
}

/** A scale for each group of 32: the search of `fitTable`, with the levels at `LEVELS`. */
export function fitTable(): void {
  for (let group: u32 = 0; group < ELEMENTS / 32; group += 4) {
    gather(VALUES, LANE_VALUES, group, 32);
    gather(WEIGHTS, LANE_WEIGHTS, group, 32);
    tableOfFour(<usize>(group << 2));
  }
}

function tableOfFour(to: usize): void {
  const zero = f32x4.splat(0);
  const extreme = extremes(32);
  const first = load<f32>(LEVELS);
  let scale = zero;
  let best = zero;
  for (let turn = 0; turn <= 2 * TABLE_CANDIDATES + 1; turn++) {
    // The scale that the largest element asks for comes first, and once more among the others.
    const steps = f32x4.splat(<f32>(turn - 1 - TABLE_CANDIDATES) + first);
    const asked = f32x4.div(f32x4.splat(1), f32x4.div(f32x4.neg(extreme), f32x4.splat(first)));
    const inverse = turn == 0 ? asked : f32x4.div(steps, extreme);
    let products = zero;
    let squares = zero;
    for (let at: usize = 0; at < 32 << 4; at += 16) {
      const value = v128.load(at, LANE_VALUES);
      const level = nearestLevel(f32x4.mul(inverse, value));
      const weighed = f32x4.mul(v128.load(at, LANE_WEIGHTS), level);
      products = f32x4.add(products, f32x4.mul(weighed, value));
      squares = f32x4.add(squares, f32x4.mul(weighed, level));
    }
    let better = f32x4.gt(squares, zero);
    if (turn > 0) {
      better = v128.and(better, f32x4.gt(f32x4.mul(products, products), f32x4.mul(best, squares)));
    }
    const newScale = f32x4.div(products, squares);
    scale = v128.bitselect(newScale, scale, better);
    best = v128.bitselect(f32x4.mul(newScale, products), best, better);
  }
  const isTiny = f32x4.lt(f32x4.abs(extreme), f32x4.splat(TINY));
  v128.store(SCALES + to, v128.bitselect(zero, scale, isTiny));
}

/** The levels nearest to four values, of two equally near ones the higher. */
function nearestLevel(value: v128): v128 {
  let low = v128.load_splat<f32>(LEVELS);
  let high = v128.load_splat<f32>(LEVELS + 4);
  for (let at: usize = 4; at < (LEVEL_COUNT - 1) << 2; at += 4) {
    const level = v128.load_splat<f32>(LEVELS + at);
    const isAbove = f32x4.ge(value, level);
    low = v128.bitselect(level, low, isAbove);
    high = v128.bitselect(v128.load_splat<f32>(LEVELS + at + 4), high, isAbove);
  }
  return v128.bitselect(low, high, f32x4.lt(f32x4.sub(value, low), f32x4.sub(high, value)));
}
