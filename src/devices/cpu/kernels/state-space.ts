import { exp4, sumLanes } from './math';

/**
 * One token row of a causal convolution, columns `first` to `end` of `width`: `taps` has `count` of a column, `last` the
 * `count - 1` rows before, which move on by this one. `bias` 0 for none; see `src/ops/causal-conv.ts`.
 */
export function causalConv(
  x: usize,
  taps: usize,
  bias: usize,
  last: usize,
  out: usize,
  first: u32,
  end: u32,
  width: u32,
  count: u32,
): void {
  const row = <usize>width << 2;
  const before = count - 1;
  for (let column = first; column < end; column++) {
    const at = <usize>column << 2;
    const columnTaps = taps + at * count;
    let sum: f32 = bias ? load<f32>(bias + at) : 0;
    let previous = last + at;
    for (let t: u32 = 0; t < before; t++) {
      sum += load<f32>(columnTaps + (t << 2)) * load<f32>(previous);
      if (t + 1 < before) store<f32>(previous, load<f32>(previous + row));
      else store<f32>(previous, load<f32>(x + at));
      previous += row;
    }
    store<f32>(out + at, sum + load<f32>(columnTaps + (before << 2)) * load<f32>(x + at));
  }
}

/** `out = factor / sqrt(|x|² + epsilon) * x`; `n` is a multiple of four. */
@inline
function l2Normalize(x: usize, out: usize, bytes: usize, epsilon: f32, factor: f32): void {
  let squares = f32x4.splat(0);
  for (let j: usize = 0; j < bytes; j += 16) {
    const value = v128.load(x + j);
    squares = f32x4.add(squares, f32x4.mul(value, value));
  }
  const scale = f32x4.splat(factor / Mathf.sqrt(sumLanes(squares) + epsilon));
  for (let j: usize = 0; j < bytes; j += 16) v128.store(out + j, f32x4.mul(v128.load(x + j), scale));
}

/**
 * One token row and head of the gated delta rule: `values` rows of `keys` values at `state` are read and written, `values` values
 * at `out` written; `decays` is 1 or `keys`. `scratch` takes three times `keys` values; `keys` is a multiple of four. See
 * `src/ops/gated-delta.ts`.
 */
export function gatedDelta(
  state: usize,
  q: usize,
  k: usize,
  v: usize,
  decay: usize,
  decays: u32,
  beta: f32,
  out: usize,
  keys: u32,
  values: u32,
  epsilon: f32,
  scale: f32,
  scratch: usize,
): void {
  const bytes = <usize>keys << 2;
  const key = scratch + bytes;
  const factors = key + bytes;
  l2Normalize(q, scratch, bytes, epsilon, scale);
  l2Normalize(k, key, bytes, epsilon, 1);
  for (let j: usize = 0; j < bytes; j += 16) {
    v128.store(factors + j, exp4(decays == 1 ? v128.load32_splat(decay) : v128.load(decay + j)));
  }
  for (let i: u32 = 0; i < values; i++) {
    let found = f32x4.splat(0);
    for (let j: usize = 0; j < bytes; j += 16) {
      const decayed = f32x4.mul(v128.load(state + j), v128.load(factors + j));
      v128.store(state + j, decayed);
      found = f32x4.add(found, f32x4.mul(decayed, v128.load(key + j)));
    }
    const delta = f32x4.splat(beta * (load<f32>(v + (i << 2)) - sumLanes(found)));
    let sum = f32x4.splat(0);
    for (let j: usize = 0; j < bytes; j += 16) {
      const next = f32x4.add(v128.load(state + j), f32x4.mul(delta, v128.load(key + j)));
      v128.store(state + j, next);
      sum = f32x4.add(sum, f32x4.mul(next, v128.load(scratch + j)));
    }
    store<f32>(out + (i << 2), sumLanes(sum));
    state += bytes;
  }
}

/**
 * One token row and head of a selective state space: `lines` lines of `n` values at `state` are read and written, `lines` values
 * at `out` written; `rates` is 1 or `n`, or 0 if `rate` has the factors themselves. `scratch` takes `n` values, which is a multiple of four. See `src/ops/selective-scan.ts`.
 */
export function selectiveScan(
  state: usize,
  x: usize,
  step: f32,
  b: usize,
  c: usize,
  rate: usize,
  rates: u32,
  skip: f32,
  out: usize,
  lines: u32,
  n: u32,
  scratch: usize,
): void {
  const bytes = <usize>n << 2;
  const decays = rates ? scratch : rate;
  for (let j: usize = 0; rates && j < bytes; j += 16) {
    const all = rates == 1 ? v128.load32_splat(rate) : v128.load(rate + j);
    v128.store(scratch + j, exp4(f32x4.mul(all, f32x4.splat(step))));
  }
  for (let i: u32 = 0; i < lines; i++) {
    const input = load<f32>(x + (i << 2));
    const added = f32x4.splat(step * input);
    let sum = f32x4.splat(0);
    for (let j: usize = 0; j < bytes; j += 16) {
      const next = f32x4.add(
        f32x4.mul(v128.load(state + j), v128.load(decays + j)),
        f32x4.mul(added, v128.load(b + j)),
      );
      v128.store(state + j, next);
      sum = f32x4.add(sum, f32x4.mul(next, v128.load(c + j)));
    }
    store<f32>(out + (i << 2), sumLanes(sum) + skip * input);
    state += bytes;
  }
}
