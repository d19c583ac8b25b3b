import { blockFormat } from './block-format.ts';
import { field } from './block-layout.ts';
import { extremeOf } from './encoding/block-source.ts';
import { FP4_DOUBLED, FP4_DOUBLED_DEVIATION, nearestFp4 } from './fp4.ts';

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
  encodeBlock({ values, from }, bytes, at) {
    for (let group = 0; group < GROUPS; group++) {
      const first = from + 16 * group;
      const scale = nearestE4m3(Math.fround(Math.abs(extremeOf(values, first, 16)) / 6));
      const d = unsignedE4m3(scale) / 2;
      bytes.setUint8(at + group, scale);
      for (let i = 0; i < 8; i++) {
        const low = nearestFp4(values[first + i] as number, d);
        const high = nearestFp4(values[first + 8 + i] as number, d);
        bytes.setUint8(at + QUANTS + 8 * group + i, low | (high << 4));
      }
    }
  },
  tame(bytes, at, deviation) {
    const code = Math.max(1, nearestE4m3((2 * deviation) / FP4_DOUBLED_DEVIATION));
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

/** The code for a scale, rounded half up as ggml does: subnormal codes do not carry, and 256 or more is the largest code. */
function nearestE4m3(value: number): number {
  if (value < 2 ** -6) return Math.min(7, Math.floor(Math.fround(512 * value + 0.5)));
  const exponent = Math.min(8, Math.floor(Math.log2(value)));
  // Eighths beyond the mantissa carry into the exponent.
  const code = 8 * (exponent + 7) + Math.round(value / 2 ** (exponent - 3)) - 8;
  return code < 0x78 ? code : 0x7e;
}
