/** Rotary positions: pairs of a head's values rotated by the row's table of (cos, sin). */

/**
 * Rotates the first `rotaryDim` values of each of `heads` heads of `headSize` values: neighbours (2i, 2i + 1) where `neox` is 0,
 * else (i, i + rotaryDim / 2). The rest is copied. `out` may be `x`.
 */
export function rope(x: usize, table: usize, out: usize, heads: u32, headSize: u32, rotaryDim: u32, neox: u32): void {
  const bytes = <usize>headSize << 2;
  for (let h: u32 = 0; h < heads; h++) {
    if (neox) rotateNeoxPairs(x, table, out, rotaryDim);
    else rotateInterleaved(x, table, out, rotaryDim);
    if (rotaryDim < headSize && x != out) {
      memory.copy(out + (<usize>rotaryDim << 2), x + (<usize>rotaryDim << 2), <usize>(headSize - rotaryDim) << 2);
    }
    x += bytes;
    out += bytes;
  }
}

@inline
function rotateInterleaved(x: usize, table: usize, out: usize, rotaryDim: u32): void {
  let i: u32 = 0;
  for (; i + 4 <= rotaryDim; i += 4) {
    const v = v128.load(x + (i << 2));
    const t = v128.load(table + (i << 2));
    const cos = i8x16.shuffle(t, t, 0, 1, 2, 3, 0, 1, 2, 3, 8, 9, 10, 11, 8, 9, 10, 11);
    const sin = i8x16.shuffle(t, t, 4, 5, 6, 7, 4, 5, 6, 7, 12, 13, 14, 15, 12, 13, 14, 15);
    const swapped = i8x16.shuffle(v, v, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11);
    const signed = v128.xor(f32x4.mul(swapped, sin), i32x4(0x80000000, 0, 0x80000000, 0));
    v128.store(out + (i << 2), f32x4.add(f32x4.mul(v, cos), signed));
  }
  for (; i < rotaryDim; i += 2) rotatePair(x, table, out, i, i + 1, i);
}

@inline
function rotateNeoxPairs(x: usize, table: usize, out: usize, rotaryDim: u32): void {
  const half = rotaryDim >> 1;
  let i: u32 = 0;
  for (; i + 4 <= half; i += 4) {
    const low = v128.load(x + (i << 2));
    const high = v128.load(x + ((i + half) << 2));
    const t0 = v128.load(table + (i << 3));
    const t1 = v128.load(table + (i << 3) + 16);
    const cos = i8x16.shuffle(t0, t1, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
    const sin = i8x16.shuffle(t0, t1, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
    v128.store(out + (i << 2), f32x4.sub(f32x4.mul(low, cos), f32x4.mul(high, sin)));
    v128.store(out + ((i + half) << 2), f32x4.add(f32x4.mul(high, cos), f32x4.mul(low, sin)));
  }
  for (; i < half; i++) rotatePair(x, table, out, i, i + half, i << 1);
}

/** The pair (a, b) by the angle at `t` of the table. */
@inline
function rotatePair(x: usize, table: usize, out: usize, a: u32, b: u32, t: u32): void {
  const first = load<f32>(x + (a << 2));
  const second = load<f32>(x + (b << 2));
  const cos = load<f32>(table + (t << 2));
  const sin = load<f32>(table + (t << 2) + 4);
  store<f32>(out + (a << 2), first * cos - second * sin);
  store<f32>(out + (b << 2), second * cos + first * sin);
}
