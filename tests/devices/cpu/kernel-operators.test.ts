import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ACTIVATIONS, type Activation } from '../../../src/ops/index.ts';
import { KERNEL_VARIANTS, KernelBench } from '../../support/cpu-kernels.ts';
import { nativeHere } from '../../support/native-kernels.ts';
import { seededRandom } from '../../support/random.ts';

const { offers } = await nativeHere();
const benches = [
  ...KERNEL_VARIANTS.map((variant) => new KernelBench(variant)),
  ...offers.map((native) => new KernelBench('relaxed', native)),
];

function random(count: number, seed: number, reach = 3): Float32Array {
  const next = seededRandom(seed);
  return Float32Array.from({ length: count }, () => reach * (2 * next() - 1));
}

/** What `run` leaves in `count` floats, checked to be the same in all builds. */
function resultOf(count: number, run: (bench: KernelBench, out: number) => void): Float32Array {
  const results = benches.map((bench) => {
    bench.reset();
    const out = bench.alloc(4 * count);
    run(bench, out);
    bench.checkGuards();
    return bench.floats(out, count);
  });
  const [first, ...others] = results as [Float32Array, ...Float32Array[]];
  for (const other of others) {
    assert.deepEqual(new Uint8Array(other.buffer), new Uint8Array(first.buffer), 'all builds agree');
  }
  return first;
}

/** Every value within `relative` of what was expected, or within `absolute`. */
function near(got: ArrayLike<number>, expected: ArrayLike<number>, relative: number, absolute = 0): void {
  assert.equal(got.length, expected.length);
  for (let i = 0; i < got.length; i++) {
    const [a, b] = [got[i] as number, expected[i] as number];
    const error = Math.abs(a - b);
    assert.ok(
      error <= relative * Math.abs(b) + absolute || Object.is(Math.fround(b), a),
      `[${i}]: ${a} for ${b}`,
    );
  }
}

/** erf by its series, or by the continued fraction of erfc where the series is slow. */
function erf(x: number): number {
  if (Math.abs(x) > 2.5) {
    let fraction = 0;
    for (let k = 200; k > 0; k--) fraction = k / 2 / (Math.abs(x) + fraction);
    return Math.sign(x) * (1 - Math.exp(-x * x) / Math.sqrt(Math.PI) / (Math.abs(x) + fraction));
  }
  let sum = x;
  for (let n = 1, term = x; n < 120; n++) {
    term *= (-x * x) / n;
    sum += term / (2 * n + 1);
  }
  return (2 * sum) / Math.sqrt(Math.PI);
}

const sigmoid = (x: number) => 1 / (1 + Math.exp(-x));
const EXACT: Readonly<Record<Activation, (x: number) => number>> = {
  silu: (x) => x * sigmoid(x),
  gelu: (x) => 0.5 * x * (1 + erf(x / Math.SQRT2)),
  gelu_tanh: (x) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3))),
  gelu_quick: (x) => x * sigmoid(1.702 * x),
  relu: (x) => Math.max(x, 0),
  relu_squared: (x) => Math.max(x, 0) ** 2,
  sigmoid,
  tanh: Math.tanh,
  exp: Math.exp,
  softplus: (x) => Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x))),
};

const ULP = 2 ** -23;

for (const [fn, name] of ACTIVATIONS.entries()) {
  test(`${name} is right to the last places`, () => {
    const count = 20_001;
    const x = Float32Array.from({ length: count }, (_, i) => (16 * i) / (count - 1) - 8);
    const got = resultOf(count, (bench, out) => bench.kernels.unary(fn, bench.put(x), out, count));
    // The GELUs subtract numbers near 1 for negative x: their error is absolute there.
    const absolute = name === 'gelu' || name === 'gelu_tanh' ? 6e-7 : 1e-42;
    const relative = name === 'gelu_quick' ? 12 * ULP : 2 * ULP;
    near(got, Array.from(x, EXACT[name]), relative, absolute);
  });

  test(`${name} of a gate times up, of any length and in place`, () => {
    for (const n of [1, 2, 3, 4, 5, 6, 7, 8, 9, 37]) {
      const [gate, up] = [random(n, n), random(n, n + 100)];
      const got = resultOf(n, (bench, out) =>
        bench.kernels.gated(fn, bench.put(gate), bench.put(up), out, n, 1, n),
      );
      near(
        got,
        Array.from(gate, (x, i) => EXACT[name](x) * (up[i] as number)),
        13 * ULP,
        2e-6,
      );
      const inPlace = resultOf(n, (bench, out) => {
        bench.bytes.set(new Uint8Array(gate.buffer), out);
        bench.kernels.gated(fn, out, bench.put(up), out, n, 1, n);
      });
      assert.deepEqual(inPlace, got);
      // Some columns of three rows: what stands between them stays.
      const width = n + 3;
      const [gates, ups] = [random(3 * width, n + 200), random(3 * width, n + 300)];
      const columns = resultOf(3 * width, (bench, out) => {
        bench.bytes.set(new Uint8Array(gates.buffer), out);
        bench.kernels.gated(fn, out, bench.put(ups), out, n, 3, width);
      });
      const expected = gates.slice();
      for (let at = 0; at < expected.length; at += width) {
        const [x, y] = [gates.subarray(at, at + n), ups.subarray(at, at + n)];
        const row = resultOf(n, (bench, out) =>
          bench.kernels.gated(fn, bench.put(x), bench.put(y), out, n, 1, n),
        );
        expected.set(row, at);
      }
      assert.deepEqual(columns, expected);
    }
  });
}

test('exp over its whole range, infinities and NaN', () => {
  const x = Float32Array.from({ length: 30_000 }, (_, i) => (i * 195) / 30_000 - 105);
  const exp = ACTIVATIONS.indexOf('exp');
  const got = resultOf(x.length, (bench, out) => bench.kernels.unary(exp, bench.put(x), out, x.length));
  near(got, Float32Array.from(x, Math.exp), 2 * ULP, 2 ** -149);
  const odd = [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0, -0, 1e9, -1e9];
  const results = resultOf(odd.length, (bench, out) =>
    bench.kernels.unary(exp, bench.put(Float32Array.from(odd)), out, odd.length),
  );
  assert.deepEqual([...results], [Number.NaN, Infinity, 0, 1, 1, Infinity, 0]);
});

test('tanh and sigmoid saturate', () => {
  const x = Float32Array.of(Number.NEGATIVE_INFINITY, -100, 100, Number.POSITIVE_INFINITY);
  const run = (name: Activation) =>
    resultOf(4, (bench, out) => bench.kernels.unary(ACTIVATIONS.indexOf(name), bench.put(x), out, 4));
  assert.deepEqual([...run('tanh')], [-1, -1, 1, 1]);
  near(run('sigmoid'), [0, 0, 1, 1], 0, 1e-42);
});

test('sums, products and scalings of any length', () => {
  for (let n = 1; n <= 9; n++) {
    const [a, b] = [random(n, n), random(n, 50 + n)];
    const round = Math.fround;
    const values = (of: (x: number, y: number) => number) =>
      Float32Array.from(a, (x, i) => of(x, b[i] as number));
    const of = (kernel: 'add' | 'mul') =>
      resultOf(n, (bench, out) => bench.kernels[kernel](bench.put(a), bench.put(b), out, n));
    assert.deepEqual(
      of('add'),
      values((x, y) => round(x + y)),
    );
    assert.deepEqual(
      of('mul'),
      values((x, y) => round(x * y)),
    );
    const scaled = resultOf(n, (bench, out) => bench.kernels.scale(bench.put(a), 0.3, out, n));
    assert.deepEqual(
      scaled,
      values((x) => round(x * round(0.3))),
    );
    const shifted = resultOf(n, (bench, out) => bench.kernels.shift(bench.put(a), 0.3, out, n));
    assert.deepEqual(
      shifted,
      values((x) => round(x + round(0.3))),
    );
    const added = resultOf(2 * n, (bench, out) => {
      bench.bytes.set(new Uint8Array(Float32Array.of(...a, ...b).buffer), out);
      bench.kernels.addToRows(bench.put(b), out, 2, n);
    });
    assert.deepEqual([...added], [...values((x, y) => round(x + y)), ...values((_, y) => round(y + y))]);
  }
});

test('norms against f64', () => {
  for (const n of [1, 3, 8, 64, 130, 2048]) {
    const x = random(n, n).map((value) => value + 5);
    const [weight, bias] = [random(n, n + 1), random(n, n + 2)];
    const mean = x.reduce((sum, value) => sum + value, 0) / n;
    const square = x.reduce((sum, value) => sum + value * value, 0) / n;
    const variance = x.reduce((sum, value) => sum + (value - mean) ** 2, 0) / n;
    const weighted = (of: (value: number) => number, withBias: boolean) =>
      Array.from(x, (value, i) => of(value) * (weight[i] as number) + (withBias ? (bias[i] as number) : 0));
    const rms = resultOf(n, (bench, out) =>
      bench.kernels.rmsNorm(bench.put(x), bench.put(weight), out, n, 1e-5),
    );
    near(
      rms,
      weighted((value) => value / Math.sqrt(square + 1e-5), false),
      1e-6,
    );
    const layer = resultOf(n, (bench, out) =>
      bench.kernels.layerNorm(bench.put(x), bench.put(weight), bench.put(bias), out, n, 1e-5),
    );
    const plain = resultOf(n, (bench, out) => bench.kernels.layerNorm(bench.put(x), 0, 0, out, n, 1e-5));
    const exact = (value: number) => (value - mean) / Math.sqrt(variance + 1e-5);
    near(layer, weighted(exact, true), 1e-5, 1e-5);
    near(plain, Array.from(x, exact), 1e-5, 1e-5);
  }
});

test('softmax against f64', () => {
  for (const n of [1, 2, 5, 8, 1001]) {
    const x = random(n, n, 20);
    const top = Math.max(...x);
    const sum = x.reduce((total, value) => total + Math.exp(value - top), 0);
    const got = resultOf(n, (bench, out) => bench.kernels.softmax(bench.put(x), out, n));
    near(
      got,
      Array.from(x, (value) => Math.exp(value - top) / sum),
      5e-6,
    );
  }
});

test('the largest of each block, and whether any value is special', () => {
  const BLOCK = 8;
  const maximaOf = (x: Float32Array) => {
    let special = 0;
    const values = resultOf(Math.ceil(x.length / BLOCK), (bench, out) => {
      special = bench.kernels.blockMaxima(bench.put(x), x.length, BLOCK, out);
    });
    return { special, values: [...values] };
  };
  const expected = (x: Float32Array) =>
    Array.from({ length: Math.ceil(x.length / BLOCK) }, (_, at) =>
      Math.max(...x.subarray(BLOCK * at, BLOCK * (at + 1))),
    );
  for (const n of [1, 7, 8, 9, 64, 1003]) {
    const x = random(n, n);
    assert.deepEqual(maximaOf(x), { special: 0, values: expected(x) }, `${n} values`);
    for (const special of [Number.NaN, Infinity, -Infinity]) {
      for (const at of [0, n >> 1, n - 1]) {
        const changed = x.slice();
        changed[at] = special;
        assert.deepEqual(
          maximaOf(changed),
          { special: 1, values: expected(changed) },
          `${special} at ${at} of ${n}`,
        );
      }
    }
  }
});

test('rope turns neighbours or halves and passes the rest through', () => {
  for (const [headSize, turned] of [
    [64, 64],
    [64, 32],
    [20, 12],
    [10, 6],
  ] as const) {
    const heads = 3;
    const x = random(heads * headSize, headSize);
    const table = random(turned, turned, 1);
    for (const halves of [0, 1]) {
      const expected = Float64Array.from(x);
      for (let head = 0; head < heads; head++) {
        for (let pair = 0; pair < turned / 2; pair++) {
          const a = head * headSize + (halves ? pair : 2 * pair);
          const b = halves ? a + turned / 2 : a + 1;
          const [cos, sin] = [table[2 * pair] as number, table[2 * pair + 1] as number];
          const [first, second] = [x[a] as number, x[b] as number];
          expected[a] = first * cos - second * sin;
          expected[b] = first * sin + second * cos;
        }
      }
      const got = resultOf(x.length, (bench, out) =>
        bench.kernels.rope(bench.put(x), bench.put(table), out, heads, headSize, turned, halves),
      );
      near(got, expected, 1e-6, 1e-6);
      const inPlace = resultOf(x.length, (bench, out) => {
        bench.bytes.set(new Uint8Array(x.buffer), out);
        bench.kernels.rope(out, bench.put(table), out, heads, headSize, turned, halves);
      });
      assert.deepEqual(inPlace, got);
    }
  }
});
