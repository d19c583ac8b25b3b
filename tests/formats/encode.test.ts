import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ALL_FORMATS, formatNamed, type TensorFormat } from '../../src/formats/index.ts';
import { seededRandom } from '../../src/base/seeded-random.ts';
import fc from '../support/fast-check.ts';

/** Largest error of a round trip, as a share of what `reference` measures in the block. */
const LOSSY = [
  { name: 'Q8_0', share: 0.5 / 127, reference: 'magnitude' },
  { name: 'Q4_0', share: 1 / 8, reference: 'magnitude' },
  { name: 'Q5_0', share: 1 / 16, reference: 'magnitude' },
  { name: 'Q4_1', share: 0.5 / 15, reference: 'range' },
  { name: 'Q5_1', share: 0.5 / 31, reference: 'range' },
] as const;

/** The scale itself is rounded to a half float: by a share of it, or by half of the smallest one, which counts once for each level. */
const HALF_ROUNDING = 2 ** -10;
const SUBNORMAL_ROUNDING = 128 * 2 ** -25;

function named(name: string): TensorFormat {
  const format = formatNamed(name);
  assert.ok(format);
  return format;
}

function roundTrip(format: TensorFormat, values: Float32Array): Float32Array {
  assert.ok(format.encode);
  const blocks = values.length / format.blockElements;
  const bytes = new Uint8Array(blocks * format.blockBytes + 3);
  format.encode(values, 0, bytes, 3, blocks);
  const decoded = new Float32Array(values.length);
  format.decode(bytes, 3, decoded, 0, blocks);
  return decoded;
}

const weights = fc
  .array(fc.float({ min: -100, max: 100, noNaN: true }), { minLength: 32, maxLength: 32 })
  .map((values) => Float32Array.from(values));

for (const { name, share, reference } of LOSSY) {
  test(`${name} encodes to within half a step (a step on the short side of signed blocks)`, () => {
    const format = named(name);
    fc.assert(
      fc.property(weights, (values) => {
        const magnitude = Math.max(...values.map(Math.abs));
        const range = Math.max(...values) - Math.min(...values);
        const step = share * (reference === 'range' ? range : magnitude);
        const limit = step + HALF_ROUNDING * magnitude + SUBNORMAL_ROUNDING;
        for (const [i, value] of roundTrip(format, values).entries()) {
          const error = Math.abs(value - (values[i] as number));
          assert.ok(error <= limit, `element ${i}: ${values[i]} became ${value}`);
        }
      }),
    );
  });

  test(`${name} keeps what it can hold: encoding a decoded block changes nothing`, () => {
    const format = named(name);
    fc.assert(
      fc.property(fc.array(fc.integer({ min: -7, max: 7 }), { minLength: 32, maxLength: 32 }), (integers) => {
        // Powers of two times small integers, with both ends of the range present, lie on every grid.
        const values = Float32Array.from(integers, (value) => value / 4);
        values.set(name === 'Q8_0' ? [127 / 4] : name.endsWith('_0') ? [-2] : [-2, 7 / 4]);
        if (name === 'Q5_0' || name === 'Q5_1') values.set([-4, 15 / 4]);
        assert.deepEqual(roundTrip(format, values), values);
      }),
    );
  });

  test(`${name} encodes zeros as zeros`, () => {
    assert.ok(roundTrip(named(name), new Float32Array(64)).every((value) => value === 0));
  });
}

test('Q4_K encodes zeros as zeros, and changes a decoded block by a twentieth of its magnitude at most', () => {
  const format = named('Q4_K');
  assert.ok(roundTrip(format, new Float32Array(512)).every((value) => value === 0));
  fc.assert(
    fc.property(
      fc.array(fc.float({ min: -1, max: 1, noNaN: true }), { minLength: 256, maxLength: 256 }),
      (values) => {
        const decoded = roundTrip(format, Float32Array.from(values));
        const again = roundTrip(format, decoded);
        const magnitude = Math.max(...values.map(Math.abs));
        for (const [i, value] of again.entries()) {
          const error = Math.abs(value - (decoded[i] as number));
          assert.ok(
            error <= 0.05 * magnitude + SUBNORMAL_ROUNDING,
            `element ${i}: ${decoded[i]} became ${value}`,
          );
        }
      },
    ),
  );
});

test('Q4_K loses less of normal weights than Q4_1, and of weights with outliers', () => {
  const random = seededRandom(5);
  const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  for (const outliers of [0, 3]) {
    const values = Float32Array.from(
      { length: 4096 },
      (_, i) => normal() * (outliers && i % 97 === 0 ? outliers : 1),
    );
    const loss = (name: string) => {
      const decoded = roundTrip(named(name), values);
      return Math.sqrt(
        values.reduce((sum, value, i) => sum + (value - (decoded[i] as number)) ** 2, 0) / 4096,
      );
    };
    assert.ok(loss('Q4_K') < loss('Q4_1'), `${loss('Q4_K')} against ${loss('Q4_1')}`);
    assert.ok(loss('Q4_K') < 0.085);
  }
});

test('F32 keeps every bit, signalling NaNs included', () => {
  const bits = Uint32Array.of(0x7f800001, 0xffc12345, 0x80000000, 1, 0x3f800000);
  const decoded = new Float32Array(bits.length);
  named('F32').decode(new Uint8Array(bits.buffer), 0, decoded, 0, bits.length);
  assert.deepEqual(new Uint32Array(decoded.buffer), bits);
});

test('F16 and BF16 keep the values they have', () => {
  const values = Float32Array.of(1, -2, 0.5, 0, -0.15625, 96, Number.POSITIVE_INFINITY);
  for (const name of ['F16', 'BF16']) assert.deepEqual(roundTrip(named(name), values), values);
});

test('plain integers and doubles decode to the nearest float', () => {
  const values = [-128, 0, 127, 5];
  const stored = {
    I8: Int8Array.from(values),
    I16: Int16Array.from(values),
    I32: Int32Array.from(values),
    I64: BigInt64Array.from(values, BigInt),
    F64: Float64Array.from(values),
  };
  for (const [name, array] of Object.entries(stored)) {
    const decoded = new Float32Array(values.length);
    named(name).decode(new Uint8Array(array.buffer), 0, decoded, 0, values.length);
    assert.deepEqual(Array.from(decoded), values, name);
  }
});

test('every format but integers has an encoder', () => {
  const without = ALL_FORMATS.filter((format) => !format.encode).map((format) => format.name);
  assert.deepEqual(without.sort(), ['I16', 'I32', 'I64', 'I8']);
});
