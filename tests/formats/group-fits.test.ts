import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { seededRandom } from '../../src/base/seeded-random.ts';
import { WIDE_SEARCH } from '../../src/formats/encoding/fit-affine.ts';
import type { GroupFits } from '../../src/formats/group-fits.ts';
import { PlainFits } from '../../src/formats/encoding/plain-fits.ts';
import { IQ4_VALUES } from '../../src/formats/iq4-values.ts';
import { WasmFits } from '../../src/formats/wasm-fits.ts';

const wasm = new WasmFits(readFileSync(new URL('../../src/formats/encoding/fits.wasm', import.meta.url)));
const plain = new PlainFits();

const BLOCKS = 40;

/** What the elements of a block are like. */
const KINDS: Readonly<Record<string, (random: () => number, i: number) => number>> = {
  plain: (random) => random() - 0.5,
  'all above zero': (random) => 1 + random(),
  'with outliers': (random, i) => (i % 37 === 5 ? 200 : 1) * (random() - 0.5),
  'groups of zeros and of one value': (random, i) =>
    (i >> 4) % 3 === 0 ? 0 : (i >> 4) % 3 === 1 ? -0.25 : random() - 0.5,
  'nearly nothing': (random) => 1e-16 * (random() - 0.5),
  'a few levels': (random) => Math.round(6 * (random() - 0.5)) / 8,
  'zeros of either sign': (random) => (random() < 0.5 ? -0 : 0),
  huge: (random) => 1e18 * (random() - 0.5),
};

const NARROW = { from: -1, step: Math.fround(0.1), count: 21 };
const BY_MAGNITUDE = { from: -0.5, step: Math.fround(0.1), count: 16, magnitudes: true } as const;

/** Every search that a format of blocks asks for: whether it finds mins, and how it is called. */
const FITS: Readonly<Record<string, readonly [mins: boolean, fit: (fits: GroupFits) => void]>> = {
  'affine, Q4_K': [true, (fits) => fits.affine(32, 15, NARROW)],
  'affine by importance, Q5_K': [true, (fits) => fits.affine(32, 31, WIDE_SEARCH)],
  'affine by magnitudes, Q2_K': [true, (fits) => fits.affine(16, 3, BY_MAGNITUDE)],
  'signed, Q6_K': [false, (fits) => fits.signed(16, 32)],
  'signed, Q3_K': [false, (fits) => fits.signed(16, 4)],
  'refined, Q3_K': [false, (fits) => fits.refined(16, 4)],
  'table, IQ4_XS': [false, (fits) => fits.table(IQ4_VALUES)],
};

for (const [name, [mins, fit]] of Object.entries(FITS)) {
  test(`${name}: WebAssembly finds the scales that TypeScript finds, bit by bit`, () => {
    const groups = /Q[45]_K|IQ4/.test(name) ? 8 : 16;
    const random = seededRandom(7);
    for (const [kind, elementOf] of Object.entries(KINDS)) {
      for (let block = 0; block < BLOCKS; block++) {
        const values = Float32Array.from({ length: 256 }, (_, i) => elementOf(random, i));
        const weights = Float32Array.from({ length: 256 }, () => random() ** 4);
        for (const fits of [plain, wasm]) {
          fits.values.set(values);
          fits.weights.set(weights);
          fit(fits);
        }
        // As bits: zeros of either sign differ.
        const bits = (numbers: Float32Array) => new Uint32Array(numbers.slice(0, groups).buffer);
        assert.deepEqual(bits(wasm.scales), bits(plain.scales), `${kind}, block ${block}`);
        if (mins) assert.deepEqual(bits(wasm.mins), bits(plain.mins), `${kind}, block ${block}`);
      }
    }
  });
}
