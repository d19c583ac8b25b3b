import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { floatToHalf, halfTable } from '../../../src/base/half.ts';
import { WEIGHT_LAYOUTS } from '../../../src/devices/cpu/weight-layouts.ts';
import { ALL_FORMATS } from '../../../src/formats/index.ts';
import { KERNEL_VARIANTS, KernelBench } from '../../support/cpu-kernels.ts';
import { fixture } from '../../support/fixture.ts';
import { seededRandom } from '../../support/random.ts';

interface Vector {
  readonly type: string;
  readonly blockSize: number;
  readonly elements: number;
}

const vectors: readonly Vector[] = JSON.parse(readFileSync(fixture('quant-vectors/index.json'), 'utf8'));

for (const variant of KERNEL_VARIANTS) {
  const bench = new KernelBench(variant);

  test(`${variant} kernels decode every format bit-exactly`, () => {
    assert.ok(vectors.length >= 25);
    for (const { type, blockSize, elements } of vectors) {
      const layout = WEIGHT_LAYOUTS[type];
      assert.ok(layout, `${type} has a layout`);
      for (const shift of [0, 2]) {
        bench.reset();
        const src = bench.put(new Uint8Array(readFileSync(fixture(`quant-vectors/${type}.bin`))), shift);
        const expected = new Uint8Array(readFileSync(fixture(`quant-vectors/${type}.f32`)));
        const out = bench.alloc(expected.byteLength);
        bench.decode(layout.decode)(src, out, elements / blockSize, bench.alloc(512));
        bench.checkGuards();
        assert.deepEqual(bench.bytes.slice(out, out + expected.byteLength), expected, type);
      }
    }
  });

  test(`${variant} kernels widen every half`, () => {
    bench.reset();
    const x = bench.put(Uint16Array.from({ length: 65536 }, (_, bits) => bits));
    const out = bench.alloc(4 * 65536);
    bench.kernels.widen(x, out, 65536);
    const widened = bench.floats(out, 65536);
    for (const [bits, value] of halfTable().entries()) {
      assert.ok(Object.is(widened[bits], value), `half ${bits} became ${widened[bits]}`);
    }
  });

  test(`${variant} kernels round f32 to halves as the scalar code does`, () => {
    const random = seededRandom(7);
    const bits = new Uint32Array(40_000);
    for (let i = 0; i < bits.length; i++) bits[i] = random() * 2 ** 32;
    const values = new Float32Array(bits.buffer);
    // Halves themselves and the ties between neighbours, where rounding to even shows.
    const halves = halfTable();
    for (let i = 0; i < 20_000; i++) {
      const half = Math.floor(random() * 0x7bff);
      const tie = ((halves[half] as number) + (halves[half + 1] as number)) / 2;
      values[i] = (i & 1 ? 1 : -1) * (i & 2 ? tie : (halves[half] as number));
    }
    bench.reset();
    const out = bench.alloc(2 * values.length);
    bench.kernels.narrow(bench.put(values), out, values.length);
    const narrowed = new Uint16Array(bench.memory.buffer, out, values.length).slice();
    assert.deepEqual(
      narrowed,
      Uint16Array.from(values, (value) => floatToHalf(value)),
    );
    for (const count of [1, 2, 3, 5, 7]) {
      bench.reset();
      const tail = bench.alloc(2 * count);
      bench.kernels.narrow(bench.put(values.subarray(0, count)), tail, count);
      bench.checkGuards();
      assert.deepEqual(new Uint16Array(bench.memory.buffer, tail, count).slice(), narrowed.slice(0, count));
    }
  });
}

test('f32 is copied', () => {
  for (const variant of KERNEL_VARIANTS) {
    const bench = new KernelBench(variant);
    const values = Float32Array.of(1, -0, 3e-42, Number.POSITIVE_INFINITY, 5);
    const out = bench.alloc(values.byteLength);
    bench.decode('decode_f32')(bench.put(values), out, values.length, bench.alloc(512));
    bench.checkGuards();
    assert.deepEqual(bench.floats(out, values.length), values);
  }
});

test('every format of floats has a layout', () => {
  const integers = new Set(['I8', 'I16', 'I32', 'I64', 'F64']);
  for (const format of ALL_FORMATS) {
    assert.equal(format.name in WEIGHT_LAYOUTS, !integers.has(format.name), format.name);
  }
});
