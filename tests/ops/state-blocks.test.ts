import assert from 'node:assert/strict';
import { test } from 'node:test';
import { halfToFloat } from '../../src/base/half.ts';
import { Q8_0 } from '../../src/formats/index.ts';
import { quantizeStateBlock, stateBlockPlanes, stateBytes } from '../../src/ops/index.ts';
import { seededRandom } from '../support/random.ts';

function quantized(values: readonly number[]): { scale: number; quants: number[] } {
  const quants = new Int8Array(32).fill(99);
  const scale = quantizeStateBlock(Float32Array.from(values), quants);
  return { scale, quants: [...quants] };
}

const block = (of: (i: number) => number) => Array.from({ length: 32 }, (_, i) => of(i));

test('quants and scales are those of the file format, bit for bit', () => {
  const random = seededRandom(7);
  for (let round = 0; round < 200; round++) {
    const size = 10 ** (8 * random() - 4);
    const values = block(() => size * (2 * random() - 1));
    const bytes = new Uint8Array(Q8_0.blockBytes);
    Q8_0.encode?.(Float32Array.from(values), 0, bytes, 0, 1);
    const { scale, quants } = quantized(values);
    assert.deepEqual([scale & 255, scale >> 8, ...quants.map((quant) => quant & 255)], [...bytes]);
  }
});

test('halves are rounded away from zero', () => {
  const { scale, quants } = quantized(block((i) => (i === 0 ? 127 : i === 1 ? -0.5 : i + 0.5)));
  assert.equal(halfToFloat(scale), 1);
  assert.deepEqual(quants.slice(0, 5), [127, -1, 3, 4, 5]);
});

test('scales that round to zero have no quants, and what is no number stays none', () => {
  assert.deepEqual(quantized(block(() => 1e-9)), { scale: 0, quants: block(() => 0) });
  assert.deepEqual(quantized(block(() => 0)), { scale: 0, quants: block(() => 0) });
  const none = { scale: 0x7e00, quants: block(() => 0) };
  assert.deepEqual(quantized(block((i) => (i === 9 ? Number.NaN : i))), none);
  assert.deepEqual(quantized(block((i) => (i === 9 ? Number.NEGATIVE_INFINITY : i))), none);
  assert.deepEqual(quantized(block(() => 127 * 65520)), none);
  assert.equal(halfToFloat(quantized(block(() => 127 * 65504)).scale), 65504);
});

test('the planes lie one behind the other and end with a whole word', () => {
  const whole = { quantBytes: 128, scales: 8192, scaleBytes: 8, byteLength: 8704 };
  assert.deepEqual(stateBlockPlanes('q8_0', 64, 128), whole);
  const odd = { quantBytes: 32, scales: 96, scaleBytes: 2, byteLength: 104 };
  assert.deepEqual(stateBlockPlanes('q8_0', 3, 32), odd);
  const nibbles = { quantBytes: 16, scales: 48, scaleBytes: 2, byteLength: 56 };
  assert.deepEqual(stateBlockPlanes('q4_0', 3, 32), nibbles);
  const five = { quantBytes: 32, scales: 32, scaleBytes: 16, byteLength: 48 };
  assert.deepEqual(stateBlockPlanes('q5_1', 1, 64), five);
  const state = { kind: 'state', id: 0, name: 'keys', type: 'q8_0', rows: 64, width: 128 } as const;
  assert.equal(stateBytes(state), 8704);
});
