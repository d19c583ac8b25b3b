import { floatToHalf } from '../base/half.ts';
import { blockFormat, halfAt } from './block-format.ts';
import { halfField } from './block-layout.ts';
import { byMagnitude } from './encoding/block-source.ts';

const SCALE = 52;

/** Runs of bytes with their numbers of digits: `bytes` bytes from `start` on, with `digits` digits each. */
const RUNS = [
  { start: 0, bytes: 32, digits: 5 },
  { start: 32, bytes: 16, digits: 5 },
  { start: 48, bytes: 4, digits: 4 },
];

/**
 * 256 ternary elements `d * (t - 1)`. A byte is a base-3 fraction of 256: multiplied by 3, its integer part is the
 * first digit, and the fraction continues with the next. Elements go through a run's bytes digit by digit. f16 `d` is
 * last.
 */
export const TQ1_0 = blockFormat({
  name: 'TQ1_0',
  ggmlType: 34,
  blockElements: 256,
  blockBytes: 54,
  layout: {
    levels: { kind: 'codes', code: { runs: RUNS }, level: { kind: 'linear', step: 1, less: 1 } },
    scale: { as: 'half', number: halfField(SCALE) },
  },
  decodeBlock(bytes, at, out, to) {
    const d = halfAt(bytes, at + SCALE);
    let next = to;
    for (const run of RUNS) {
      for (let digit = 0, power = 1; digit < run.digits; digit++, power *= 3) {
        for (let i = 0; i < run.bytes; i++) {
          const fraction = (bytes.getUint8(at + run.start + i) * power) & 255;
          out[next++] = d * (((fraction * 3) >> 8) - 1);
        }
      }
    }
  },
  encodeBlock(source, bytes, at) {
    const { scale, codes } = byMagnitude(source, 256, 2);
    bytes.setUint16(at + SCALE, floatToHalf(scale), true);
    let next = 0;
    for (const run of RUNS) {
      for (let i = 0; i < run.bytes; i++) {
        let digits = 0;
        for (let digit = 0; digit < 5; digit++) {
          digits = 3 * digits + (digit < run.digits ? (codes[next + digit * run.bytes + i] as number) : 0);
        }
        // Rounded up, so that the digits come out again when the fraction is multiplied by 3.
        bytes.setUint8(at + run.start + i, Math.ceil((digits * 256) / 3 ** 5));
      }
      next += run.bytes * run.digits;
    }
  },
  tame(bytes, at, deviation) {
    bytes.setUint16(at + SCALE, floatToHalf(deviation / 0.816), true);
  },
});
