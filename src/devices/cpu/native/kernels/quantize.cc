/** Activations in 8 bits: `quantize.ts` of the WebAssembly kernels, which describes the records, with the same results. */
#include "elementary.h"
#include "records.h"

/** The least and the most that a normal half holds. */
constexpr float MIN_HALF = 6.103515625e-5f;
constexpr float MAX_HALF = 65504;

/** Below this a group counts as zeros: 127 / max would not be finite. */
constexpr float TINY = 1e-36f;

constexpr i32 INFINITY_BITS = 0x7f800000;

/** The bits of the largest magnitude of `count` values, a multiple of 32: magnitudes are ordered as their bits are, with NaN above all. */
INLINE i32 topBits(const u8* x, u32 count) {
  WideInts high = {};
  for (u32 i = 0; i < count; i += WIDTH) {
    const WideInts bits = *(const WideInts*)(x + 4 * i) & 0x7fffffff;
    high = bits > high ? bits : high;
  }
  i32 top = 0;
  for (u32 i = 0; i < WIDTH; i++) top = high[i] > top ? high[i] : top;
  return top;
}

/** A scale rounded to a normal half; one that is none stays as it is. */
INLINE float asHalf(float scale) {
  if (scale < MIN_HALF || scale > MAX_HALF) return scale;
  float rounded[WIDTH];
  storeFloats((u8*)rounded, roundToHalves(splatFloat((const u8*)&scale)));
  return rounded[0];
}

/** A scale, and what values are multiplied by. */
struct Steps {
  float scale, inverse;

  /** For values of which the largest magnitude has these bits. */
  __attribute__((always_inline)) Steps(i32 bits, bool rounds) {
    const float top = __builtin_bit_cast(float, bits);
    const float factor = 127.0f / top;
    const float exact = rounds ? asHalf(top / 127.0f) : 1.0f / factor;
    scale = top < TINY ? 0.0f : exact;
    // Values beside NaN or an infinity become zeros.
    inverse = top < TINY || bits >= INFINITY_BITS ? 0.0f : factor;
  }
};

/** The sum of a vector's values. */
INLINE i32 sumOf(WideInts v) {
  i32 sum = 0;
  for (u32 i = 0; i < WIDTH; i++) sum += v[i];
  return sum;
}

/** Values rounded to whole numbers, ties to even, of which none is beyond 127. */
INLINE WideInts rounded(Wide x) {
  // The sum has no bits behind the point, and its last bits are the number.
  constexpr float SHIFTER = 12582912.0f;
  return (WideInts)(x + SHIFTER) - __builtin_bit_cast(i32, SHIFTER);
}

/** The record of 32 values; `alone` if they are a span. */
INLINE void quantizeGroup(const u8* x, u8* record, const Steps& steps, bool alone) {
  WideInts halves[2] = {};
  for (u32 i = 0; i < 32; i += WIDTH) {
    const Wide scaled = *(const Wide*)(x + 4 * i) * steps.inverse;
    const WideInts q = rounded(scaled == scaled ? scaled : Wide{});
    *(WideBytes*)(record + i) = __builtin_convertvector(q, WideBytes);
    halves[i / 16] += q;
  }
  const i32 first = sumOf(halves[0]);
  const i32 second = sumOf(halves[1]);
  *(float*)(record + X_SCALE) = steps.scale;
  if (alone) {
    *(float*)(record + X_SUM) = steps.scale * (float)(first + second);
    *(float*)(record + X_FIRST_SUM) = steps.scale * (float)first;
    *(i32*)(record + X_LIFT) = -8 * (first + second);
  } else {
    *(short*)(record + X_SUMS) = (short)first;
    *(short*)(record + X_SUMS + 2) = (short)second;
  }
}

/** A row into records that are `step` bytes apart. */
INLINE void quantizeRow(const u8* x, u8* out, u32 columns, u64 step, u32 span) {
  const u32 whole = columns >> 5;
  for (u32 g = 0; g < whole; g += span) {
    const u32 groups = whole - g < span ? whole - g : span;
    const Steps steps(topBits(x, 32 * groups), span == 1);
    for (u32 i = 0; i < groups; i++, x += 128, out += step) quantizeGroup(x, out, steps, span == 1);
  }
  const u32 rest = columns & 31;
  if (rest == 0) return;
  float last[32] = {};
  for (u32 i = 0; i < rest; i++) last[i] = ((const float*)x)[i];
  quantizeGroup((const u8*)last, out, Steps(topBits((const u8*)last, 32), span == 1), span == 1);
}

/** `quantize` of `../../kernel-exports.ts`, behind the address of WebAssembly's 0; it needs no scratch. */
KERNEL void quantize(u8* base, u32 from, u32 to, u32 columns, u32 width, u32 rows, u32 lanes, u32 lane, u32, u32 span) {
  const u8* x = base + from;
  u8* out = base + to;
  const u64 step = (u64)RECORD_BYTES * lanes;
  for (u32 row = 0; row < rows; row++, x += 4 * (u64)width) {
    quantizeRow(x, out + RECORD_BYTES * lane, columns, step, span);
    lane++;
    if (lane < lanes) continue;
    lane = 0;
    out += step * ((width + 31) >> 5);
  }
}
