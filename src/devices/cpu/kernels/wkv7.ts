import { sumLanes } from './math';

/**
 * One token row and one head of RWKV-7's recurrence: `n` rows of `n` values at `state` are read and written, `n` values at
 * `out` written; see `src/ops/wkv7.ts`. `n` is a multiple of four.
 */
export function wkv7(
  state: usize,
  r: usize,
  w: usize,
  k: usize,
  v: usize,
  kk: usize,
  a: usize,
  out: usize,
  n: u32,
): void {
  const bytes = n << 2;
  for (let i: u32 = 0; i < bytes; i += 4) {
    let removed = f32x4.splat(0);
    for (let j: u32 = 0; j < bytes; j += 16) {
      removed = f32x4.sub(removed, f32x4.mul(v128.load(state + j), v128.load(kk + j)));
    }
    const s = f32x4.splat(sumLanes(removed));
    const value = v128.load32_splat(v + i);
    let sum = f32x4.splat(0);
    for (let j: u32 = 0; j < bytes; j += 16) {
      const added = f32x4.add(
        f32x4.mul(s, f32x4.mul(v128.load(kk + j), v128.load(a + j))),
        f32x4.mul(value, v128.load(k + j)),
      );
      const next = f32x4.add(f32x4.mul(v128.load(state + j), v128.load(w + j)), added);
      v128.store(state + j, next);
      sum = f32x4.add(sum, f32x4.mul(next, v128.load(r + j)));
    }
    store<f32>(out + i, sumLanes(sum));
    state += bytes;
  }
}
