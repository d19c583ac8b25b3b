import { blockFormat } from './block-format.ts';
import { field } from './block-layout.ts';
import { FP4_DOUBLED, FP4_DOUBLED_DEVIATION } from './fp4.ts';

const GROUPS = 4;
const QUANTS = 4;

/**
 * NVIDIA NVFP4: 64 E2M1 elements in 4 groups of 16, each with an unsigned E4M3 scale: 4 bytes of scales, then 8 bytes
 * of codes per group, low nibbles first. The codes' values are stored doubled, so the scale is halved.
 */
export const NVFP4 = blockFormat({
  name: 'NVFP4',
  ggmlType: 40,
  blockElements: 64,
  blockBytes: 36,
  layout: {
    levels: {
      kind: 'codes',
      code: [field(QUANTS, 4, [8, 16, 32, 4, 64, 128])],
      level: { kind: 'table', table: FP4_DOUBLED },
    },
    scale: { as: 'e4m3', number: [field(0, 8, [0, 0, 0, 0, 8, 16])] },
  },
  decodeBlock(bytes, at, out, to) {
    for (let group = 0; group < GROUPS; group++) {
      const d = unsignedE4m3(bytes.getUint8(at + group)) / 2;
      for (let i = 0; i < 8; i++) {
        const codes = bytes.getUint8(at + QUANTS + 8 * group + i);
        out[to + 16 * group + i] = d * (FP4_DOUBLED[codes & 15] as number);
        out[to + 16 * group + 8 + i] = d * (FP4_DOUBLED[codes >> 4] as number);
      }
    }
  },
  tame(bytes, at, deviation) {
    const code = nearestE4m3((2 * deviation) / FP4_DOUBLED_DEVIATION);
    for (let group = 0; group < GROUPS; group++) bytes.setUint8(at + group, code);
  },
});

/** E4M3 with bias 7 and the sign bit ignored; the code that would be NaN means zero. */
function unsignedE4m3(code: number): number {
  if (code === 0x7f) return 0;
  const exponent = (code >> 3) & 15;
  const mantissa = code & 7;
  return exponent === 0 ? mantissa * 2 ** -9 : (1 + mantissa / 8) * 2 ** (exponent - 7);
}

/** The code nearest to a positive value, at least the smallest positive one. */
function nearestE4m3(value: number): number {
  const exponent = Math.min(8, Math.max(-6, Math.floor(Math.log2(value))));
  const eighths = Math.round(value / 2 ** (exponent - 3));
  // Eighths beyond the mantissa carry into the exponent; below it, at exponent -6, they are the subnormal code itself.
  return Math.min(0x7e, Math.max(1, 8 * (exponent + 7) + eighths - 8));
}
