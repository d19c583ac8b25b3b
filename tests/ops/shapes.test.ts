import assert from 'node:assert/strict';
import { test } from 'node:test';
import { F32, Q4_0 } from '../../src/formats/index.ts';
import {
  add,
  appendAt,
  attention,
  causalConv,
  cellPlaces,
  choosePositions,
  compressCells,
  type GraphBuilder,
  embed,
  gated,
  gatedDelta,
  type GatedDeltaShape,
  gatherRows,
  indexScores,
  joinCells,
  kvAppend,
  layerNorm,
  matmul,
  mul,
  type PagedCache,
  rmsNorm,
  rope,
  ropeTable,
  lerp,
  gaussianTopK,
  l2Norm,
  groupNorm,
  SAMPLING_ROW_WORDS,
  sample,
  selectiveScan,
  type SelectiveScanShape,
  slice,
  streamShares,
  tokenAppend,
  tokenShift,
  wkv7,
  wkvBonus,
} from '../../src/ops/index.ts';
import { builder, cacheFor, HEADS } from '../support/graph-of-everything.ts';

const NONE = { kind: 'none' } as const;

function rows(g: GraphBuilder, name: string, width: number) {
  return g.input(name, { axis: 'rows', width });
}

/** The rule for 4 heads of 4 on 2 of 8 with all that fits them, but for what is changed. */
function delta(g: GraphBuilder, changed: Partial<GatedDeltaShape>, decays = 4) {
  const operands = {
    ...{ q: rows(g, 'q', 16), k: rows(g, 'k', 16), v: rows(g, 'v', 16) },
    ...{ decay: rows(g, 'decay', decays), beta: rows(g, 'beta', 4) },
  };
  return gatedDelta(g, operands, {
    ...{ heads: 4, keyHeads: 2, keySize: 8, valueSize: 4, keyOrder: 'tiled', lengthEpsilon: 0, scale: 1 },
    ...changed,
    state: g.state('state', 'f32', 3, 4 * 4 * 8),
  });
}

/** A scan of 4 heads of 4 in 2 groups with all that fits them, but for what is changed. */
function scan(g: GraphBuilder, changed: Partial<SelectiveScanShape>) {
  const operands = { x: rows(g, 'x', 16), b: rows(g, 'b', 16), c: rows(g, 'c', 16) };
  return selectiveScan(g, operands, {
    ...{ heads: 4, headSize: 4, stateSize: 8, groups: 2 },
    ...{ dt: rows(g, 'dt', 4), a: g.weight('a', F32, 4, 1), d: g.weight('d', F32, 1, 4) },
    ...changed,
    state: g.state('state', 'f32', 3, 16 * 8),
  });
}

/** An indexer of two heads of 8 with all that fits them, but for what is changed. */
function index(
  g: GraphBuilder,
  of: { readonly heads?: number; readonly type?: 'f16' | 'q8_0'; readonly cache?: PagedCache },
) {
  const { heads = 2, type = 'f16' } = of;
  const cache = of.cache ?? { ...cacheFor(g), keys: g.state('index', type, 48, 8), values: undefined };
  return indexScores(g, { q: rows(g, 'q', 16), weights: rows(g, 'weights', heads), cache });
}

/** Recordings whose operands do not fit, by what is wrong with them. */
const wrong: Readonly<Record<string, (g: GraphBuilder) => unknown>> = {
  'matmul of another width': (g) => matmul(g, rows(g, 'x', 32), g.weight('w', Q4_0, 8, 64)),
  'matmul with a bias of another width': (g) =>
    matmul(g, rows(g, 'x', 64), g.weight('w', Q4_0, 8, 64), g.weight('b', F32, 1, 9)),
  'add of two widths': (g) => add(g, rows(g, 'a', 4), rows(g, 'b', 5)),
  'add of two axes': (g) => add(g, rows(g, 'a', 4), g.input('b', { axis: 'outputs', width: 4 })),
  'mul with a vector of another width': (g) => mul(g, rows(g, 'a', 4), g.weight('b', F32, 1, 3)),
  'mul with a matrix': (g) => mul(g, rows(g, 'a', 4), g.weight('b', F32, 2, 4)),
  'gate and up of two widths': (g) => gated(g, 'silu', rows(g, 'a', 4), rows(g, 'b', 8)),
  'slice beyond the row': (g) => slice(g, rows(g, 'x', 10), { offset: 4, width: 7 }),
  'slice from before the row': (g) => slice(g, rows(g, 'x', 10), { offset: -1, width: 2 }),
  'lerp between two widths': (g) => lerp(g, rows(g, 'a', 4), rows(g, 'b', 5), { t: rows(g, 't', 4) }),
  'lerp by a row that the weight lacks': (g) =>
    lerp(g, rows(g, 'a', 4), rows(g, 'b', 4), { t: g.weight('t', F32, 2, 4), row: 2 }),
  'l2Norm by a group that leaves a rest': (g) => l2Norm(g, rows(g, 'x', 10), { size: 4, epsilon: 1e-12 }),
  'gaussianTopK of one value': (g) => gaussianTopK(g, rows(g, 'x', 1), 1),
  'groupNorm with a bias of another width': (g) =>
    groupNorm(g, rows(g, 'x', 8), {
      size: 4,
      weight: g.weight('w', F32, 1, 8),
      bias: g.weight('b', F32, 1, 4),
      epsilon: 1e-5,
    }),
  'tokenShift with a state of another width': (g) =>
    tokenShift(g, rows(g, 'x', 8), g.state('last', 'f32', 3, 4)),
  'tokenShift with too few slots': (g) => tokenShift(g, rows(g, 'x', 8), g.state('last', 'f32', 2, 8)),
  'wkv7 with a state of another size': (g) => {
    const x = rows(g, 'x', 8);
    const state = g.state('wkv', 'f32', 3, 8 * 8);
    return wkv7(g, { r: x, w: x, k: x, v: x, kk: x, a: x }, { state, headSize: 4 });
  },
  'wkvBonus of two widths': (g) => {
    const [r, k] = [rows(g, 'r', 8), rows(g, 'k', 4)];
    return wkvBonus(g, { r, k, v: r }, { weight: g.weight('w', F32, 1, 8), headSize: 4 });
  },
  'causalConv by taps of another width': (g) =>
    causalConv(g, rows(g, 'x', 8), { weight: g.weight('w', F32, 4, 4), last: g.state('last', 'f32', 3, 24) }),
  'causalConv by one tap': (g) =>
    causalConv(g, rows(g, 'x', 8), { weight: g.weight('w', F32, 8, 1), last: g.state('last', 'f32', 3, 8) }),
  'causalConv with a state of another size': (g) =>
    causalConv(g, rows(g, 'x', 8), { weight: g.weight('w', F32, 8, 4), last: g.state('last', 'f32', 3, 32) }),
  'gatedDelta with key heads that leave a rest': (g) => delta(g, { keyHeads: 3 }),
  'gatedDelta with keys of another width': (g) => delta(g, { keySize: 16 }),
  'gatedDelta with values of another width': (g) => delta(g, { valueSize: 8 }),
  'gatedDelta with too many decays': (g) => delta(g, {}, 5),
  'selectiveScan with groups that leave a rest': (g) => scan(g, { groups: 3 }),
  'selectiveScan with heads of another size': (g) => scan(g, { headSize: 8 }),
  'selectiveScan with states of another size': (g) => scan(g, { stateSize: 16 }),
  'indexScores with queries of another width': (g) => index(g, { heads: 3 }),
  'indexScores over values': (g) => index(g, { cache: cacheFor(g) }),
  'indexScores over odd blocks': (g) => index(g, { type: 'q8_0' }),
  'choosePositions by too few scores': (g) =>
    choosePositions(g, rows(g, 'scores', 15), { count: 2, cache: cacheFor(g) }),
  'choosePositions that chooses none': (g) =>
    choosePositions(g, rows(g, 'scores', 16), { count: 0, cache: cacheFor(g) }),
  'choosePositions with more blocks that are always chosen than chosen ones': (g) => {
    const chosenBlocks = { size: 2, local: 3 };
    return choosePositions(g, rows(g, 'scores', 16), { count: 2, cache: cacheFor(g), chosenBlocks });
  },
  'compressCells of halves': (g) => {
    const cache = cacheFor(g);
    return compressCells(g, { cache, bias: g.weight('b', F32, 4, 32), overlaps: false, ratio: 4 });
  },
  'compressCells by too few scores of places': (g) => {
    const state = (name: string) => g.state(name, 'f32', 48, 8);
    const cache = { ...cacheFor(g), keys: state('pending values'), values: state('pending scores') };
    return compressCells(g, { cache, bias: g.weight('b', F32, 3, 8), overlaps: true, ratio: 4 });
  },
  'cellPlaces of cells that blocks do not end with': (g) => cellPlaces(g, { ratio: 6, positions: 32 }),
  'joinCells without a window': (g) =>
    joinCells(g, { ratio: 4, positions: 4, window: 0, blocks: g.batch.blocks }),
  'appendAt a cache with values': (g) =>
    appendAt(g, cacheFor(g), {
      k: rows(g, 'k', 32),
      places: g.input('places', { axis: 'rows', width: 1, type: 'i32' }),
    }),
  'streamShares by one scale': (g) =>
    streamShares(g, rows(g, 'mixes', 24), {
      ...{ scale: g.weight('s', F32, 1, 1), base: g.weight('b', F32, 1, 24) },
      ...{ streams: 4, iterations: 2, epsilon: 0 },
    }),
  'attention by groups that do not divide the key heads': (g) => {
    const cache = cacheFor(g);
    const chosen = choosePositions(g, rows(g, 'scores', 48), { count: 2, cache, groups: 3 });
    return attention(g, rows(g, 'q', 64), cache, { ...HEADS, chosen });
  },
  'attention to chosen positions in a window': (g) => {
    const cache = cacheFor(g);
    const chosen = choosePositions(g, rows(g, 'scores', 16), { count: 2, cache });
    return attention(g, rows(g, 'q', 64), cache, { ...HEADS, chosen, window: 3 });
  },
  'a slice of more heads than there are': (g) =>
    slice(g, rows(g, 'x', 12), { offset: 0, segmentWidth: 2, stride: 4, width: 8 }),
  'a slice of parts that leave a rest': (g) =>
    slice(g, rows(g, 'x', 12), { offset: 0, segmentWidth: 4, stride: 4, width: 6 }),
  'rmsNorm by a group that leaves a rest': (g) =>
    rmsNorm(g, rows(g, 'x', 10), g.weight('w', F32, 1, 4), 1e-5),
  'rmsNorm with weights for fewer groups than there are': (g) =>
    rmsNorm(g, rows(g, 'x', 12), g.weight('w', F32, 2, 4), 1e-5),
  'layerNorm of another width': (g) =>
    layerNorm(g, rows(g, 'x', 10), { weight: g.weight('w', F32, 1, 5), epsilon: 1e-5 }),
  'layerNorm with a bias of another width': (g) =>
    layerNorm(g, rows(g, 'x', 4), {
      weight: g.weight('w', F32, 1, 4),
      bias: g.weight('b', F32, 1, 5),
      epsilon: 1e-5,
    }),
  'rope of an odd number of values': (g) => ropeTable(g, { dimensions: 7, base: 1e4, scaling: NONE }),
  'rope with too few factors': (g) =>
    ropeTable(g, { dimensions: 8, base: 1e4, scaling: NONE }, g.weight('f', F32, 1, 3)),
  'rope of heads that leave a rest': (g) => {
    const table = ropeTable(g, { dimensions: 4, base: 1e4, scaling: NONE });
    return rope(g, rows(g, 'x', 10), { table, headSize: 4, pairs: 'neox' });
  },
  'rope of more than a head': (g) => {
    const table = ropeTable(g, { dimensions: 8, base: 1e4, scaling: NONE });
    return rope(g, rows(g, 'x', 16), { table, headSize: 4, pairs: 'neox' });
  },
  'keys that do not fit the cache': (g) => kvAppend(g, cacheFor(g), rows(g, 'k', 33), rows(g, 'v', 16)),
  'values that do not fit the cache': (g) => kvAppend(g, cacheFor(g), rows(g, 'k', 32), rows(g, 'v', 17)),
  'heads that key heads do not divide': (g) =>
    attention(g, rows(g, 'q', 48), cacheFor(g), { ...HEADS, heads: 3 }),
  'queries of another width': (g) => attention(g, rows(g, 'q', 63), cacheFor(g), HEADS),
  'a cache of another key size': (g) =>
    attention(g, rows(g, 'q', 32), cacheFor(g), { ...HEADS, keySize: 8, valueSize: 8 }),
  'a cache of another value size': (g) =>
    attention(g, rows(g, 'q', 64), cacheFor(g), { ...HEADS, valueSize: 9 }),
  'output rows of output rows': (g) => gatherRows(g, g.input('x', { axis: 'outputs', width: 4 })),
  'a history of too few slots': (g) => tokenAppend(g, g.state('h', 'i32', 2, 10), g.state('t', 'i32', 4, 1)),
  'a history of floats': (g) => tokenAppend(g, g.state('h', 'f32', 3, 10), g.state('t', 'i32', 4, 1)),
  'sampled tokens of two ids': (g) => tokenAppend(g, g.state('h', 'i32', 3, 10), g.state('t', 'i32', 4, 2)),
  'ids by output rows': (g) =>
    embed(g, g.weight('w', Q4_0, 8, 32), g.input('ids', { axis: 'outputs', width: 1, type: 'i32' })),
  'sampling parameters of another width': (g) =>
    sample(g, {
      logits: g.input('logits', { axis: 'outputs', width: 10 }),
      parameters: g.input('p', { axis: 'outputs', width: 3, type: 'i32' }),
      history: g.state('h', 'i32', 3, 10),
      masks: g.state('m', 'i32', 3, 64),
      alternatives: 0,
    }),
  'masks of fewer bits than logits': (g) =>
    sample(g, {
      logits: g.input('logits', { axis: 'outputs', width: 33 }),
      parameters: g.input('p', { axis: 'outputs', width: SAMPLING_ROW_WORDS, type: 'i32' }),
      history: g.state('h', 'i32', 3, 10),
      masks: g.state('m', 'i32', 3, 1),
      alternatives: 0,
    }),
  'a tensor without width': (g) => rows(g, 'x', 0),
  'an input as output': (g) => g.output('y', rows(g, 'x', 3)),
};

for (const [name, record] of Object.entries(wrong)) {
  test(`refuses ${name}`, () => {
    const g = builder();
    assert.throws(() => record(g), {
      code: 'GRAPH_SHAPE',
      message: /graph test, operator \d+: expected that /,
    });
  });
}

test('a weight or a state named twice is the same value', () => {
  const g = builder();
  assert.equal(g.weight('w', F32, 2, 3), g.weight('w', F32, 2, 3));
  assert.equal(g.state('s', 'f32', 2, 3), g.state('s', 'f32', 2, 3));
  const { weights, states } = g.finish();
  assert.deepEqual([weights.length, states.length], [1, 1]);
});
