import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ALL_FORMATS } from '../../src/formats/index.ts';
import { seededRandom } from '../support/random.ts';

/** Formats whose scale has few values come only near to what was asked for. */
const COARSE = new Map([
  ['MXFP4', 2 ** 0.5],
  ['NVFP4', 1.2],
]);

for (const format of ALL_FORMATS) {
  test(`${format.name} fills with finite weights of the deviation asked for`, () => {
    const blocks = Math.ceil(65536 / format.blockElements);
    const bytes = new Uint8Array(blocks * format.blockBytes);
    const deviation = /^I\d+$/.test(format.name) ? 30 : 0.02;
    format.fillRandom(bytes, seededRandom(7), deviation);

    const values = new Float32Array(blocks * format.blockElements);
    format.decode(bytes, 0, values, 0, blocks);
    assert.ok(values.every(Number.isFinite));
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
    const square = values.reduce((sum, value) => sum + value * value, 0) / values.length;
    const ratio = Math.sqrt(square - mean * mean) / deviation;
    const allowed = COARSE.get(format.name) ?? 1.04;
    assert.ok(ratio <= allowed && ratio >= 1 / allowed, `deviation is ${ratio} of what was asked for`);
    assert.ok(Math.abs(mean) < 0.03 * deviation, `mean is ${mean / deviation} deviations`);
  });
}

test('the same seed gives the same bytes', () => {
  for (const format of ALL_FORMATS) {
    const [a, b] = [new Uint8Array(format.blockBytes * 3), new Uint8Array(format.blockBytes * 3)];
    format.fillRandom(a, seededRandom(3), 1);
    format.fillRandom(b, seededRandom(3), 1);
    assert.deepEqual(a, b);
  }
});
