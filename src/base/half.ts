/**
 * IEEE 754 binary16 and bfloat16 against binary32, exact in the widening direction and rounded to nearest, ties to even,
 * in the narrowing one (as ggml's `GGML_FP32_TO_FP16` and `GGML_FP32_TO_BF16`).
 */
const scratchFloat = new Float32Array(1);
const scratchBits = new Uint32Array(scratchFloat.buffer);

function bitsOf(value: number): number {
  scratchFloat[0] = value;
  return scratchBits[0] as number;
}

function floatOf(bits: number): number {
  scratchBits[0] = bits;
  return scratchFloat[0] as number;
}

function widenHalf(half: number): number {
  const sign = (half & 0x8000) << 16;
  const exponent = (half >> 10) & 0x1f;
  const mantissa = half & 0x3ff;
  if (exponent === 0x1f) return floatOf((sign | 0x7f800000 | (mantissa << 13)) >>> 0);
  if (exponent === 0) return (sign ? -1 : 1) * mantissa * 2 ** -24;
  return floatOf((sign | ((exponent + 112) << 23) | (mantissa << 13)) >>> 0);
}

let table: Float32Array | undefined;

/** All 65 536 half floats widened, indexed by their bits; built at first use (256 KiB). */
export function halfTable(): Float32Array {
  table ??= Float32Array.from({ length: 65536 }, (_, bits) => widenHalf(bits));
  return table;
}

/** The binary32 value of a binary16's bits. */
export function halfToFloat(half: number): number {
  return halfTable()[half & 0xffff] as number;
}

/** The binary16 bits nearest to a value; overflow gives infinity. */
export function floatToHalf(value: number): number {
  const bits = bitsOf(value);
  const sign = (bits >>> 16) & 0x8000;
  const magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return sign | 0x7e00;
  if (magnitude >= 0x477ff000) return sign | 0x7c00;
  if (magnitude < 0x38800000) {
    // Subnormal: the sum with 0.5 lets the FPU round the mantissa to the last 10 bits.
    return sign | (bitsOf(floatOf(magnitude) + 0.5) - 0x3f000000);
  }
  return sign | ((magnitude - 0x38000000 + 0xfff + ((magnitude >>> 13) & 1)) >>> 13);
}

/** The binary32 value of a bfloat16's bits. */
export function bfloatToFloat(bits: number): number {
  return floatOf((bits << 16) >>> 0);
}

/** The bfloat16 bits nearest to a value. */
export function floatToBfloat(value: number): number {
  const bits = bitsOf(value);
  if ((bits & 0x7fffffff) > 0x7f800000) return (bits >>> 16) | 64;
  return (bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16;
}
