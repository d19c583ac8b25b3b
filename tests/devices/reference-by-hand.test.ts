import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openReferenceDevice } from '../../src/devices/reference/index.ts';
import { F32, Q4_0 } from '../../src/formats/index.ts';
import {
  ACTIVATIONS,
  type Activation,
  add,
  attention,
  DEFAULT_SAMPLING,
  embed,
  type GraphBuilder,
  gated,
  gatherRows,
  kvAppend,
  layerNorm,
  matmul,
  mul,
  rmsNorm,
  rope,
  ropeTable,
  SAMPLING_ROW_WORDS,
  sample,
  scale,
  type Tensor,
  tokenAppend,
  unary,
  writeSamplingRow,
} from '../../src/ops/index.ts';
import { caseData } from '../support/contract/case-data.ts';
import { elementsOf, stateRows } from '../support/contract/compare.ts';
import type { Elements } from '../support/contract/op-case.ts';
import { plainBatch, type RaggedBatch } from '../support/contract/ragged-batch.ts';
import { runCase } from '../support/contract/run-case.ts';

type Contents = Readonly<Record<string, readonly number[]>>;

/** Runs recorded operators on the oracle over given contents; gives outputs and states by name. */
async function computed(
  batch: RaggedBatch,
  contents: Contents,
  record: (g: GraphBuilder) => Record<string, Tensor>,
): Promise<Record<string, number[]>> {
  const fill = Object.fromEntries(
    Object.entries(contents).map(([name, values]) => [name, (elements: Elements) => elements.set(values)]),
  );
  const data = caseData({ op: 'layer', name: 'by hand', batch, record, fill });
  await using device = openReferenceDevice();
  const { outputs, states } = await runCase(device, data);
  const numbers: Record<string, number[]> = {};
  for (const { name, tensor } of data.graph.outputs) {
    const rows = tensor.axis === 'outputs' ? batch.outputs : batch.rows;
    const bytes = outputs.get(name);
    assert.ok(bytes);
    numbers[name] = [...elementsOf(bytes, tensor.type).subarray(0, rows * tensor.width)];
  }
  for (const state of data.graph.states) {
    const bytes = states.get(state.name);
    assert.ok(bytes);
    numbers[state.name] = Array.from({ length: state.rows }, (_, row) => [
      ...stateRows(bytes, state, [row]),
    ]).flat();
  }
  return numbers;
}

function assertClose(actual: readonly number[] | undefined, expected: readonly number[], tolerance = 1e-6) {
  assert.equal(actual?.length, expected.length);
  expected.forEach((want, i) => {
    const have = actual?.[i] as number;
    assert.ok(Math.abs(have - want) <= tolerance * Math.max(1, Math.abs(want)), `${i}: ${have}, not ${want}`);
  });
}

const rows = (g: GraphBuilder, name: string, width: number) => g.input(name, { axis: 'rows', width });

test('embed looks rows up', async () => {
  const batch = { ...plainBatch(3), ids: [2, 0, 9] };
  const { y } = await computed(batch, { table: [1, 2, 3, 4, 5, 6] }, (g) => ({
    y: embed(g, g.weight('table', F32, 3, 2)),
  }));
  assert.deepEqual(y, [5, 6, 1, 2, 0, 0]);
});

test('matmul has an output for each row of the weight', async () => {
  const contents = { x: [1, 2, 3, -1, 0, 2], w: [1, 0, 0, 1, 1, 1], b: [10, 20] };
  const { y, z } = await computed(plainBatch(2), contents, (g) => {
    const x = rows(g, 'x', 3);
    const w = g.weight('w', F32, 2, 3);
    return { y: matmul(g, x, w), z: matmul(g, x, w, g.weight('b', F32, 1, 2)) };
  });
  assert.deepEqual(y, [1, 6, -1, 1]);
  assert.deepEqual(z, [11, 26, 9, 21]);
});

test('matmul multiplies what the format decodes, and does not round activations', async () => {
  const { y } = await computed(
    plainBatch(1),
    {
      x: Array.from({ length: 32 }, (_, i) => (i === 3 ? 1 + 2 ** -20 : 0)),
      w: new Array<number>(32).fill(-8),
    },
    (g) => ({ y: matmul(g, rows(g, 'x', 32), g.weight('w', Q4_0, 1, 32)) }),
  );
  assert.deepEqual(y, [Math.fround(-8 * (1 + 2 ** -20))]);
});

test('add, mul and scale', async () => {
  const contents = { a: [1, 2, 3, 4], b: [10, 20, 30, 40], v: [5, -1], one: [7] };
  const out = await computed(plainBatch(2), contents, (g) => {
    const a = rows(g, 'a', 2);
    const b = rows(g, 'b', 2);
    const v = g.weight('v', F32, 1, 2);
    const one = g.weight('one', F32, 1, 1);
    return {
      sum: add(g, a, b),
      product: mul(g, a, b),
      shifted: add(g, a, v),
      stretched: mul(g, a, v),
      sevenfold: mul(g, a, one),
      halved: scale(g, a, 0.5),
    };
  });
  assert.deepEqual(out, {
    sum: [11, 22, 33, 44],
    product: [10, 40, 90, 160],
    shifted: [6, 1, 8, 3],
    stretched: [5, -2, 15, -4],
    sevenfold: [7, 14, 21, 28],
    halved: [0.5, 1, 1.5, 2],
  });
});

/** Values at -1, 0 and 2, from tables. */
const AT: Readonly<Record<Activation, readonly [number, number, number]>> = {
  silu: [-0.2689414, 0, 1.7615942],
  gelu: [-0.1586553, 0, 1.9544997],
  gelu_tanh: [-0.158808, 0, 1.9545977],
  gelu_quick: [-0.1542042, 0, 1.9356586],
  relu: [0, 0, 2],
  relu_squared: [0, 0, 4],
  sigmoid: [0.2689414, 0.5, 0.8807971],
  tanh: [-0.7615942, 0, 0.9640276],
  exp: [0.3678794, 1, 7.3890561],
  softplus: [0.3132617, Math.LN2, 2.126928],
};

for (const fn of ACTIVATIONS) {
  test(`unary and gated ${fn}`, async () => {
    const contents = { x: [-1, 0, 2], up: [10, 20, -5] };
    const { y, z } = await computed(plainBatch(1), contents, (g) => {
      const x = rows(g, 'x', 3);
      return { y: unary(g, fn, x), z: gated(g, fn, x, rows(g, 'up', 3)) };
    });
    const [a, b, c] = AT[fn];
    assertClose(y, [a, b, c]);
    assertClose(z, [10 * a, 20 * b, -5 * c]);
  });
}

test('rmsNorm over the row and over groups', async () => {
  const contents = { x: [3, 4, 0, 0], w: [1, 1, 1, 2], half: [1, 10] };
  const { whole, groups } = await computed(plainBatch(1), contents, (g) => {
    const x = rows(g, 'x', 4);
    return {
      whole: rmsNorm(g, x, g.weight('w', F32, 1, 4), 0.5),
      groups: rmsNorm(g, x, g.weight('half', F32, 1, 2), 0.75),
    };
  });
  const rms = Math.sqrt(25 / 4 + 0.5);
  assertClose(whole, [3 / rms, 4 / rms, 0, 0]);
  assertClose(groups, [3 / Math.sqrt(13.25), 40 / Math.sqrt(13.25), 0, 0]);
});

test('layerNorm subtracts the mean and divides by the deviation', async () => {
  const contents = { x: [1, 3, 5, 7], w: [1, 1, 2, 2], b: [0, 10, 0, 10] };
  const { y, z } = await computed(plainBatch(1), contents, (g) => {
    const x = rows(g, 'x', 4);
    const weight = g.weight('w', F32, 1, 4);
    return {
      y: layerNorm(g, x, { weight, epsilon: 4 }),
      z: layerNorm(g, x, { weight, bias: g.weight('b', F32, 1, 4), epsilon: 4 }),
    };
  });
  assertClose(y, [-1, -1 / 3, 2 / 3, 2]);
  assertClose(z, [-1, 10 - 1 / 3, 2 / 3, 12]);
});

test('rope turns neighbours or halves by position times frequency', async () => {
  const batch = { ...plainBatch(2), positions: [0, 1] };
  const contents = { x: [1, 2, 3, 4, 9, 1, 2, 3, 4, 9] };
  const { table, neighbours, halves } = await computed(batch, contents, (g) => {
    const turns = ropeTable(g, { dimensions: 4, base: 100, scaling: { kind: 'none' } });
    const x = rows(g, 'x', 5);
    const of = { table: turns, headSize: 5 };
    return {
      table: turns,
      neighbours: rope(g, x, { ...of, pairs: 'interleaved' }),
      halves: rope(g, x, { ...of, pairs: 'neox' }),
    };
  });
  const [c0, s0, c1, s1] = [Math.cos(1), Math.sin(1), Math.cos(0.1), Math.sin(0.1)];
  assertClose(table, [1, 0, 1, 0, c0, s0, c1, s1]);
  const unturned = [1, 2, 3, 4, 9];
  assertClose(neighbours, [...unturned, c0 - 2 * s0, s0 + 2 * c0, 3 * c1 - 4 * s1, 3 * s1 + 4 * c1, 9]);
  assertClose(halves, [...unturned, c0 - 3 * s0, 2 * c1 - 4 * s1, s0 + 3 * c0, 2 * s1 + 4 * c1, 9]);
});

test('gatherRows picks output rows, tokenAppend notes ids, given or sampled', async () => {
  const batch: RaggedBatch = {
    ...plainBatch(3),
    ids: [7, -2, 9],
    slots: [1, 0, 1],
    positions: [0, 2, 1],
    outputRows: [2, 0],
    outputs: 2,
    blocks: [[-1], [-1]],
    shape: { rows: 5, outputs: 4, slots: 2, blocksPerSlot: 1 },
  };
  const contents = { x: [1, 2, 3], history: [0, 0, 0, 0, 0, 0], tokens: [5, 8] };
  const { ids, y, history } = await computed(batch, contents, (g) => {
    const ids = tokenAppend(g, g.state('history', 'i32', 2, 3), g.state('tokens', 'i32', 2, 1));
    return { ids, y: gatherRows(g, rows(g, 'x', 1)) };
  });
  assert.deepEqual(ids, [7, 8, 9]);
  assert.deepEqual(y, [3, 1]);
  assert.deepEqual(history, [0, 0, 8, 7, 9, 0]);
});

/** Two tokens of slot 0, whose positions lie in blocks 2 and 0 of two cells each. */
const pair: RaggedBatch = {
  ...plainBatch(2),
  positions: [1, 2],
  slots: [0, 0],
  blocks: [[2, 0]],
  blockSize: 2,
  cells: 6,
  shape: { rows: 3, outputs: 3, slots: 1, blocksPerSlot: 2 },
};

test('kvAppend writes the cells that the block table names', async () => {
  const { keys, values } = await computed(
    pair,
    { k: [1.5, 2.5], v: [10, 20, 30, 40], keys: [0, 0, 0, 0, 0, 0], values: new Array<number>(12).fill(0) },
    (g) => {
      const cache = {
        keys: g.state('keys', 'f32', 6, 1),
        values: g.state('values', 'f16', 6, 2),
        blocks: g.batch.blocks,
        blockSize: 2,
      };
      kvAppend(g, cache, rows(g, 'k', 1), rows(g, 'v', 2));
      return {};
    },
  );
  assert.deepEqual(keys, [2.5, 0, 0, 0, 0, 1.5]);
  assert.deepEqual(values, [30, 40, 0, 0, 0, 0, 0, 0, 0, 0, 10, 20]);
});

test('attention of two tokens over three positions', async () => {
  const nan = Number.NaN;
  const contents = {
    q: [1, 0, 2, 1],
    keys: [2, nan, nan, nan, 0, 1],
    values: [100, nan, nan, nan, 1, 10],
  };
  const parameters = { heads: 2, kvHeads: 1, keySize: 1, valueSize: 1, scale: 0.5 };
  const record =
    (window: number | undefined, softCap: number | undefined) =>
    (g: GraphBuilder): Record<string, Tensor> => {
      const cache = {
        keys: g.state('keys', 'f32', 6, 1),
        values: g.state('values', 'f32', 6, 1),
        blocks: g.batch.blocks,
        blockSize: 2,
      };
      return { y: attention(g, rows(g, 'q', 2), cache, { ...parameters, window, softCap }) };
    };
  const e = Math.exp;
  const { y } = await computed(pair, contents, record(undefined, undefined));
  const first = (1 + 10 * e(0.5)) / (1 + e(0.5));
  const second = (q: number) => (1 + 10 * e(0.5 * q) + 100 * e(q)) / (1 + e(0.5 * q) + e(q));
  assertClose(y, [first, 5.5, second(2), second(1)]);
  const windowed = await computed(pair, contents, record(2, undefined));
  const last = (q: number) => (10 * e(0.5 * q) + 100 * e(q)) / (e(0.5 * q) + e(q));
  assertClose(windowed.y, [first, 5.5, last(2), last(1)]);
  const capped = await computed(pair, contents, record(1, 0.1));
  assertClose(capped.y, [10, 10, 100, 100]);
  const soft = await computed(pair, contents, record(2, 0.25));
  const cap = (score: number) => e(0.25 * Math.tanh(score / 0.25));
  assertClose(soft.y?.slice(2, 3), [(10 * cap(1) + 100 * cap(2)) / (cap(1) + cap(2))]);
});

/** Sampling from a vocabulary of three tokens, for two slots. */
const sampleOfThree = (g: GraphBuilder) =>
  sample(g, {
    logits: g.input('logits', { axis: 'outputs', width: 3 }),
    parameters: g.input('parameters', { axis: 'outputs', width: SAMPLING_ROW_WORDS, type: 'i32' }),
    history: g.state('history', 'i32', 2, 3),
    masks: g.state('masks', 'i32', 2, 64),
    alternatives: 1,
  });

test('sample takes the likeliest token that the mask of its slot lets through', async () => {
  const row = new Int32Array(2 * SAMPLING_ROW_WORDS);
  const masked = { ...DEFAULT_SAMPLING, temperature: 0, masked: true, logProbabilities: 1 };
  writeSamplingRow(masked, row.subarray(0, SAMPLING_ROW_WORDS));
  writeSamplingRow(masked, row.subarray(SAMPLING_ROW_WORDS));
  const contents = {
    logits: [1, 3, 4, 1, 3, 4],
    parameters: [...row],
    history: [0, 0, 0, 0, 0, 0],
    masks: [0b011, ...new Array<number>(63).fill(0), 0b001],
  };
  const shape = { rows: 2, outputs: 2, slots: 2, blocksPerSlot: 1 };
  const batch = { ...plainBatch(2), slots: [1, 0], blocks: [[-1], [-1]], shape };
  const { tokens, report } = await computed(batch, contents, sampleOfThree);
  assert.deepEqual(tokens, [0, 1]);
  const total = Math.log(Math.exp(1) + Math.exp(3) + Math.exp(4));
  assertClose([report?.[1] ?? 0, report?.[3] ?? 0], [1 - total, 4 - total]);
});

test('sample chooses by the row of its output, and reports', async () => {
  const row = new Int32Array(2 * SAMPLING_ROW_WORDS);
  const greedy = { ...DEFAULT_SAMPLING, temperature: 0, logProbabilities: 1 };
  writeSamplingRow(greedy, row.subarray(0, SAMPLING_ROW_WORDS));
  const penalized = { ...greedy, presencePenalty: 5, penaltyWindow: 1, logProbabilities: -1 };
  writeSamplingRow(penalized, row.subarray(SAMPLING_ROW_WORDS));
  const ln = Math.log;
  const contents = {
    logits: [ln(1), ln(3), ln(4), ln(1), ln(3), ln(4)],
    parameters: [...row],
    history: [0, 2, 9, 0, 0, 0],
  };
  const batch = {
    ...plainBatch(2),
    blocks: [[-1], [-1]],
    shape: { rows: 2, outputs: 2, slots: 2, blocksPerSlot: 1 },
  };
  const { tokens, report } = await computed(batch, contents, sampleOfThree);
  assert.deepEqual(tokens, [2, 1]);
  assertClose([report?.[1] ?? 0, report?.[3] ?? 0], [ln(1 / 2), ln(1 / 2)]);
  assert.deepEqual(report?.slice(4).map(Number.isNaN), [true, true, true, true], 'no report was asked for');
});
