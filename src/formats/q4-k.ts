import { floatToHalf, halfToFloat } from '../base/half.ts';
import { blockFormat, halfAt } from './block-format.ts';
import { BYTES_32, field, halfField } from './block-layout.ts';
import { affineCode, fitAffine } from './fit-affine.ts';
import { minFieldsK, minK, packScalesK, scaleFieldsK, scaleK } from './k-scales.ts';

const SCALES = 4;
const QUANTS = 16;

/**
 * 256 elements in 8 groups of 32, `d * scale * q - dmin * min`. Bytes: f16 `d` and `dmin`, 12 of 6-bit scales and mins,
 * 128 of nibbles: 32 bytes hold one group in their low nibbles and the next in their high ones.
 */
export const Q4_K = blockFormat({
  name: 'Q4_K',
  ggmlType: 12,
  blockElements: 256,
  blockBytes: 144,
  layout: {
    levels: {
      kind: 'codes',
      code: [field(QUANTS, 4, [...BYTES_32, 4, 256, 512])],
      level: { kind: 'linear', step: 1, less: 0 },
    },
    scale: { as: 'half', number: halfField(0), sub: { number: scaleFieldsK(SCALES), as: { less: 0 } } },
    min: { number: halfField(2), sub: minFieldsK(SCALES) },
  },
  decodeBlock(bytes, at, out, to) {
    const d = halfAt(bytes, at);
    const dmin = halfAt(bytes, at + 2);
    for (let group = 0; group < 8; group++) {
      const scale = Math.fround(d * scaleK(bytes, at + SCALES, group));
      const min = Math.fround(dmin * minK(bytes, at + SCALES, group));
      const from = at + QUANTS + 32 * (group >> 1);
      const shift = 4 * (group & 1);
      for (let i = 0; i < 32; i++) {
        const q = (bytes.getUint8(from + i) >> shift) & 15;
        out[to + 32 * group + i] = Math.fround(scale * q) - min;
      }
    }
  },
  encodeBlock(values, from, bytes, at) {
    const fits = Array.from({ length: 8 }, (_, group) => fitAffine(values, from + 32 * group, 32, 15));
    const d = floatToHalf(Math.max(...fits.map(({ scale }) => scale)) / 63);
    const dmin = floatToHalf(Math.max(...fits.map(({ min }) => min)) / 63);
    bytes.setUint16(at, d, true);
    bytes.setUint16(at + 2, dmin, true);
    const scales = fits.map(({ scale }) => sixBits(scale, halfToFloat(d)));
    const mins = fits.map(({ min }) => sixBits(min, halfToFloat(dmin)));
    packScalesK(scales, mins, bytes, at + SCALES);
    for (let group = 0; group < 8; group++) {
      const fit = {
        scale: halfToFloat(d) * (scales[group] as number),
        min: halfToFloat(dmin) * (mins[group] as number),
      };
      const to = at + QUANTS + 32 * (group >> 1);
      for (let i = 0; i < 32; i++) {
        const q = affineCode(values[from + 32 * group + i] as number, fit, 15);
        bytes.setUint8(to + i, group & 1 ? bytes.getUint8(to + i) | (q << 4) : q);
      }
    }
  },
  tame(bytes, at, deviation) {
    bytes.setUint16(at, floatToHalf(deviation / 258.3), true);
    bytes.setUint16(at + 2, floatToHalf((7.5 * deviation) / 258.3), true);
  },
});

/** `value` in units of `unit`, as 6 bits. */
function sixBits(value: number, unit: number): number {
  return unit === 0 ? 0 : Math.min(63, Math.round(value / unit));
}
