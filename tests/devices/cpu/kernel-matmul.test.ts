import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  matmulScratchBytes,
  NATIVE_LAYOUTS,
  recordBytes,
  TILE_ROWS,
  WEIGHT_LAYOUTS,
  type WeightLayout,
} from '../../../src/devices/cpu/weight-layouts.ts';
import { formatNamed, type TensorFormat } from '../../../src/formats/index.ts';
import { KERNEL_VARIANTS, KernelBench } from '../../support/cpu-kernels.ts';
import { nativeHere } from '../../support/native-kernels.ts';
import { seededRandom } from '../../support/random.ts';

interface Case {
  readonly format: TensorFormat;
  readonly layout: WeightLayout;
  readonly rows: number;
  readonly columns: number;
  readonly blocks: Uint8Array;
  /** The decoded weights, row by row. */
  readonly weights: Float32Array;
}

/** The mean of squared errors of 8-bit rounding of uniform numbers, relative to their squares, with room for chance. */
const RECORD_LIMIT = 4e-5;
const FLOAT_LIMIT = 1e-11;

/** Rows of activations that are quantized in a call, neither all rows nor a part of a tile. */
const ROWS_QUANTIZED = 5;

const { offers } = await nativeHere();
const nativeBenches = offers.map((native) => new KernelBench('relaxed', native));
const benches = [...KERNEL_VARIANTS.map((variant) => new KernelBench(variant)), ...nativeBenches];

/** Kernels, and a case in a layout that they read. */
interface Run {
  readonly bench: KernelBench;
  readonly of: Case;
}

/** A case with all kernels, and with the native ones in a layout of their own, if there is one. */
function runsOf(of: Case): Run[] {
  const layout = NATIVE_LAYOUTS[of.format.name];
  const all = benches.map((bench) => ({ bench, of }));
  if (!layout || layout.name === of.layout.name) return all;
  return [...all, ...nativeBenches.map((bench) => ({ bench, of: { ...of, layout } }))];
}

function caseOf(name: string, rows: number, columns: number): Case {
  const format = formatNamed(name);
  const layout = WEIGHT_LAYOUTS[name];
  assert.ok(format && layout);
  const count = (rows * columns) / format.blockElements;
  const blocks = new Uint8Array(count * format.blockBytes);
  format.fillRandom(blocks, seededRandom(rows + columns), 0.05);
  const weights = new Float32Array(rows * columns);
  format.decode(blocks, 0, weights, 0, count);
  return { format, layout, rows, columns, blocks, weights };
}

/** Packs in chunks of at most `chunkRows` rows. */
function packed({ bench, of }: Run, chunkRows: number): number {
  const { layout, rows, columns, format } = of;
  const rowBytes = (columns / format.blockElements) * format.blockBytes;
  const src = bench.put(of.blocks, 2);
  const weight = bench.alloc(layout.packedBytes(rows, columns));
  const scratch = bench.alloc(512);
  for (let row = 0; row < rows; row += chunkRows) {
    const some = Math.min(chunkRows, rows - row);
    bench.pack(layout.pack)(src + row * rowBytes, weight, row, some, columns, scratch);
  }
  return weight;
}

function activations({ bench, of }: Run, x: Float32Array, lanes: number): number {
  const { columns, layout } = of;
  if (layout.activations === 'floats') return bench.put(x);
  const rows = x.length / columns;
  const records = bench.alloc(recordBytes(lanes === 1 ? 1 : rows, columns));
  const scratch = bench.alloc(128);
  const span = of.format.blockElements === 256 ? 8 : 1;
  for (let row = 0; row < rows; row += ROWS_QUANTIZED) {
    const lane = row % lanes;
    const tile = records + Math.floor(row / lanes) * recordBytes(lanes, columns);
    const some = x.subarray(row * columns, (row + ROWS_QUANTIZED) * columns);
    const count = some.length / columns;
    bench.kernels.quantize(bench.put(some), tile, columns, columns, count, lanes, lane, scratch, span);
  }
  return records;
}

/** Many rows at once; the weight's rows in chunks of `step`. */
function productOfMany(run: Run, x: Float32Array, step: number): Float32Array {
  const { bench, of } = run;
  bench.reset();
  const { rows, columns, layout } = of;
  const tokens = x.length / columns;
  const weight = packed(run, 8);
  const input = activations(run, x, TILE_ROWS);
  const stride = rows + 3;
  const y = bench.alloc(4 * stride * tokens);
  const scratch = bench.alloc(matmulScratchBytes(tokens, columns));
  for (let row = 0; row < rows; row += step) {
    const end = Math.min(row + step, rows);
    bench.matMat(layout.matMat)(weight, input, y, row, end, columns, tokens, stride, scratch);
  }
  bench.checkGuards();
  const padded = bench.floats(y, stride * tokens);
  const out = new Float32Array(rows * tokens);
  for (let token = 0; token < tokens; token++) {
    out.set(padded.subarray(token * stride, token * stride + rows), token * rows);
    assert.ok(padded.subarray(token * stride + rows, (token + 1) * stride).every(Number.isNaN));
  }
  return out;
}

/** The rows of activations one by one. */
function productOfEach(run: Run, x: Float32Array, step: number): Float32Array {
  const { bench, of } = run;
  const { rows, columns, layout } = of;
  const tokens = x.length / columns;
  const out = new Float32Array(rows * tokens);
  for (let token = 0; token < tokens; token++) {
    bench.reset();
    const weight = packed(run, rows);
    const input = activations(run, x.subarray(token * columns, (token + 1) * columns), 1);
    const y = bench.alloc(4 * rows);
    const scratch = bench.alloc(matmulScratchBytes(1, columns));
    for (let row = 0; row < rows; row += step) {
      bench.matVec(layout.matVec)(weight, input, y, row, Math.min(row + step, rows), columns, 1, scratch);
    }
    bench.checkGuards();
    out.set(bench.floats(y, rows), token * rows);
  }
  return out;
}

/** Mean squared error relative to the mean square, each output measured in units of its row's length. */
function errorOf(of: Case, x: Float32Array, y: Float32Array): number {
  const { rows, columns, weights } = of;
  let error = 0;
  let signal = 0;
  for (let i = 0; i < y.length; i++) {
    const [token, row] = [Math.floor(i / rows), i % rows];
    let exact = 0;
    let length = 0;
    for (let c = 0; c < columns; c++) {
      const weight = weights[row * columns + c] as number;
      exact += weight * (x[token * columns + c] as number);
      length += weight * weight;
    }
    error += ((y[i] as number) - exact) ** 2 / (length || 1);
    signal += exact ** 2 / (length || 1);
  }
  return error / signal;
}

function uniform(count: number, seed: number): Float32Array {
  const random = seededRandom(seed);
  return Float32Array.from({ length: count }, () => 2 * random() - 1);
}

/** Activations that 8 bits hold exactly: the scale of each group of 32 is a power of two. */
function integral(count: number): Float32Array {
  const random = seededRandom(5);
  return Float32Array.from({ length: count }, (_, i) =>
    i % 32 === 0 ? 127 / 64 : (Math.floor(random() * 255) - 127) / 64,
  );
}

function columnsOf(name: string): number {
  const elements = formatNamed(name)?.blockElements ?? 1;
  return elements === 1 ? 75 : elements > 64 ? 512 : 192;
}

for (const name of Object.keys(WEIGHT_LAYOUTS)) {
  test(`${name} products: near f64, and the same however they are split, batched and built`, () => {
    const of = caseOf(name, 27, columnsOf(name));
    const x = uniform(6 * of.columns, 3);
    const results = runsOf(of).flatMap((run) => [
      productOfMany(run, x, 8),
      productOfMany(run, x, of.rows),
      productOfEach(run, x, 4),
      productOfEach(run, x, of.rows),
    ]);
    const [first, ...others] = results as [Float32Array, ...Float32Array[]];
    const error = errorOf(of, x, first);
    assert.ok(error < (of.layout.activations === 'floats' ? FLOAT_LIMIT : RECORD_LIMIT), `error ${error}`);
    for (const other of others) {
      assert.deepEqual(new Uint8Array(other.buffer), new Uint8Array(first.buffer));
    }
  });

  test(`${name} weights lose nothing when they are packed`, () => {
    const of = caseOf(name, 9, columnsOf(name));
    const x = integral(of.columns);
    for (const run of runsOf(of)) {
      const error = errorOf(of, x, productOfEach(run, x, of.rows));
      assert.ok(error < FLOAT_LIMIT, `error ${error}`);
    }
  });
}

test('more rows than are taken together give the same one by one and together', () => {
  for (const name of ['Q4_0', 'Q4_K', 'Q6_K', 'F16']) {
    const of = caseOf(name, 69, 256);
    const x = uniform(531 * of.columns, 13);
    for (const run of runsOf(of)) {
      assert.deepEqual(productOfMany(run, x, of.rows), productOfEach(run, x, of.rows), name);
    }
  }
});

test('rows longer than a panel give the same one by one and together', () => {
  for (const name of ['Q4_0', 'Q5_1', 'Q4_K', 'Q5_K', 'Q6_K', 'Q8_0', 'IQ4_XS', 'F16']) {
    const of = caseOf(name, 5, 2560);
    const x = uniform(5 * of.columns, 11);
    for (const run of runsOf(of)) {
      const many = productOfMany(run, x, of.rows);
      assert.deepEqual(many, productOfEach(run, x, of.rows), name);
      assert.ok(errorOf(of, x, many) < RECORD_LIMIT, name);
    }
  }
});

test('extreme weights and activations stay within the integers that sum them', () => {
  for (const name of ['Q4_0', 'Q5_0', 'Q8_0', 'IQ4_NL', 'IQ3_XXS', 'Q6_K']) {
    const of = caseOf(name, 4, 256);
    // All bits set, apart from the scales: the largest codes and signs of every format.
    const { blocks, format, weights } = of;
    const scaleAt: Record<string, number[]> = { Q6_K: [208, 209], IQ3_XXS: [0, 1] };
    for (let i = 0; i < blocks.length; i++) {
      if (!(scaleAt[name] ?? [0, 1]).includes(i % format.blockBytes))
        blocks[i] = name === 'Q8_0' ? 0x80 : 0xff;
    }
    format.decode(blocks, 0, weights, 0, blocks.length / format.blockBytes);
    // 127 so that the scale is one, which a half holds.
    const x = new Float32Array(4 * of.columns).map((_, i) => (i < 2 * of.columns ? 127 : -127));
    for (const run of runsOf(of)) {
      const y = productOfMany(run, x, 4);
      assert.ok(errorOf(of, x, y) < FLOAT_LIMIT, `${name}: ${errorOf(of, x, y)}`);
      assert.deepEqual(productOfEach(run, x, 4), y, name);
    }
  }
});

test('halves from the smallest to the largest multiply exactly', () => {
  const of = caseOf('F16', 8, 64);
  const random = seededRandom(9);
  const halves = new Uint16Array(of.blocks.buffer);
  for (let i = 0; i < halves.length; i++) {
    const row = Math.floor(i / of.columns);
    const magnitude = row < 4 ? random() * 0x800 : row < 6 ? random() * 0x3c00 : random() * 0x7c00;
    halves[i] = Math.floor(magnitude) | (random() < 0.5 ? 0x8000 : 0);
  }
  of.format.decode(of.blocks, 0, of.weights, 0, halves.length);
  const x = integral(of.columns);
  for (const run of runsOf(of)) {
    const y = productOfEach(run, x, of.rows);
    assert.ok(errorOf(of, x, y) < FLOAT_LIMIT);
    assert.deepEqual(productOfMany(run, x, of.rows), y);
  }
});

test('outputs may stand anywhere, however far behind the first ones the rows of the weight are', () => {
  for (const name of ['Q4_0', 'F16']) {
    const of = caseOf(name, 65_536, 32);
    const x = uniform(2 * of.columns, 4);
    for (const bench of benches) {
      bench.reset();
      const y = bench.alloc(4 * 2 * 4);
      const weight = packed({ bench, of }, of.rows);
      const input = activations({ bench, of }, x, TILE_ROWS);
      const scratch = bench.alloc(matmulScratchBytes(2, of.columns));
      const [begin, end] = [of.rows - 4, of.rows];
      // Before address 0: the kernel adds the row.
      assert.ok(y - 4 * begin < 0);
      const { matMat, matVec } = of.layout;
      bench.matMat(matMat)(weight, input, y - 4 * begin, begin, end, of.columns, 2, 4, scratch);
      const many = bench.floats(y, 8).slice();
      bench.matVec(matVec)(weight, input, y - 4 * begin, begin, end, of.columns, TILE_ROWS, scratch);
      assert.deepEqual(bench.floats(y, 4).slice(), many.slice(0, 4));
      assert.ok(many.every((value) => Math.abs(value) < 10) && new Set(many).size > 4);
      bench.checkGuards();
    }
  }
});

test('activations of zeros, of very small and of infinite numbers', () => {
  const of = caseOf('Q4_0', 4, 64);
  for (const run of runsOf(of)) {
    const product = (value: number) => productOfEach(run, new Float32Array(of.columns).fill(value), 4);
    assert.ok(product(0).every((y) => y === 0));
    assert.ok(product(1e-40).every((y) => Math.abs(y) < 1e-36));
    assert.ok(product(Number.POSITIVE_INFINITY).every((y) => !Number.isFinite(y)));
    assert.ok(product(Number.NaN).every(Number.isNaN));
  }
});
