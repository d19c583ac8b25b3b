/** What mixtures of experts need beside products. */
import { TILE_STEP } from './quantize';

/** `groups` records of one lane of a tile at `x` into a lane of a tile at `out`. */
export function copyRecords(x: usize, out: usize, groups: u32): void {
  for (let g: u32 = 0; g < groups; g++) {
    v128.store(out, v128.load(x));
    v128.store(out, v128.load(x, 16), 16);
    v128.store(out, v128.load(x, 32), 32);
    x += TILE_STEP;
    out += TILE_STEP;
  }
}

/** `out = x`, `n` words of 32 bits. */
export function copyWords(x: usize, out: usize, n: u32): void {
  memory.copy(out, x, <usize>n << 2);
}

/** `out[i]` is the sum over `count` rows of `n` values at `x` of `x[j][i] * factors[j]`, added up in f64 in the order of rows. */
export function weightedSum(x: usize, factors: usize, out: usize, n: u32, count: u32): void {
  const step = <usize>n << 2;
  let i: u32 = 0;
  for (; i + 4 <= n; i += 4) {
    let low = f64x2.splat(0);
    let high = low;
    let at = x + (i << 2);
    for (let j: u32 = 0; j < count; j++) {
      const factor = f64x2.splat(<f64>load<f32>(factors + (j << 2)));
      const v = v128.load(at);
      const upper = i8x16.shuffle(v, v, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7);
      low = f64x2.add(low, f64x2.mul(factor, f64x2.promote_low_f32x4(v)));
      high = f64x2.add(high, f64x2.mul(factor, f64x2.promote_low_f32x4(upper)));
      at += step;
    }
    const first = f32x4.demote_f64x2_zero(low);
    const second = f32x4.demote_f64x2_zero(high);
    v128.store(out + (i << 2), i8x16.shuffle(first, second, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23));
  }
  for (; i < n; i++) {
    let sum: f64 = 0;
    for (let j: u32 = 0; j < count; j++) {
      sum += <f64>load<f32>(factors + (j << 2)) * <f64>load<f32>(x + (i << 2) + step * j);
    }
    store<f32>(out + (i << 2), <f32>sum);
  }
}
