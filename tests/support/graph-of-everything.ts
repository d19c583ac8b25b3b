import { F16, F32, Q4_0 } from '../../src/formats/index.ts';
import {
  add,
  allGather,
  allReduce,
  type ChosenPositions,
  attention,
  causalConv,
  cellPlaces,
  choosePositions,
  clamp,
  combineExperts,
  compressCells,
  concat,
  scaleExperts,
  embed,
  GraphBuilder,
  gated,
  gaussianTopK,
  gatedDelta,
  gatherRows,
  groupNorm,
  hadamard,
  indexScores,
  joinCells,
  kvAppend,
  l2Norm,
  layerNorm,
  lerp,
  matmul,
  matmulExperts,
  matmulHeads,
  mul,
  type OpGraph,
  type Tensor,
  rmsNorm,
  rope,
  routeExperts,
  ropeTable,
  SAMPLING_ROW_WORDS,
  sample,
  scale,
  selectiveScan,
  slice,
  streamShares,
  tokenAppend,
  tokenShift,
  unary,
  wkv7,
  wkvBonus,
} from '../../src/ops/index.ts';

export const SHAPE = { rows: 8, outputs: 2, slots: 3, blocksPerSlot: 4 } as const;

export const HEADS = {
  heads: 4,
  kvHeads: 2,
  keySize: 16,
  valueSize: 8,
  scale: 0.25,
} as const;

export function builder(): GraphBuilder {
  return new GraphBuilder('test', SHAPE);
}

/** A cache for `HEADS`. */
export function cacheFor(g: GraphBuilder, type: 'f16' | 'f32' = 'f16') {
  return {
    keys: g.state('keys', type, 48, HEADS.kvHeads * HEADS.keySize),
    values: g.state('values', type, 48, HEADS.kvHeads * HEADS.valueSize),
    blocks: g.batch.blocks,
    blockSize: 4,
  };
}

/** RWKV's operators, 64 wide. */
function recurrence(g: GraphBuilder, x: Tensor): Tensor {
  const shifted = tokenShift(g, x, g.state('last', 'f32', SHAPE.slots, 64));
  const r = lerp(g, x, shifted, { t: g.weight('lerp', F32, 2, 64), row: 1 });
  const kk = l2Norm(g, r, { size: 16, epsilon: 1e-12 });
  const state = g.state('wkv', 'f32', SHAPE.slots, 64 * 16);
  const w = unary(g, 'sigmoid', x);
  const mixed = wkv7(g, { r, w, k: shifted, v: x, kk, a: unary(g, 'tanh', x) }, { state, headSize: 16 });
  const [weight, bias] = [g.weight('gn', F32, 1, 64), g.weight('gn.bias', F32, 1, 64)];
  const normed = groupNorm(g, mixed, { size: 16, weight, bias, epsilon: 1e-5 });
  const of = { weight: g.weight('bonus', F32, 1, 64), headSize: 16 };
  const bonus = wkvBonus(g, { r, k: shifted, v: x }, of);
  return add(g, normed, gaussianTopK(g, bonus, 1));
}

/** A convolution, the gated delta rule and a state space, 64 wide. */
function stateSpace(g: GraphBuilder, x: Tensor): Tensor {
  const part = (first: number, width = 16) => slice(g, x, { offset: first, width });
  const v = causalConv(g, x, {
    weight: g.weight('taps', F32, 64, 4),
    bias: g.weight('taps.bias', F32, 1, 64),
    fn: 'silu',
    last: g.state('conv', 'f32', SHAPE.slots, 3 * 64),
  });
  const operands = { q: part(0), k: part(16), v, decay: part(32, 4), beta: part(36, 4) };
  const delta = gatedDelta(g, operands, {
    ...{ heads: 4, keyHeads: 2, keySize: 8, valueSize: 16, keyOrder: 'tiled', lengthEpsilon: 1e-6, scale: 1 },
    state: g.state('delta', 'f32', SHAPE.slots, 4 * 16 * 8),
  });
  const inputs = { x: delta, b: part(0), c: part(16) };
  return selectiveScan(g, inputs, {
    ...{ heads: 4, headSize: 16, stateSize: 8, groups: 2 },
    dt: part(40, 4),
    a: g.weight('ssm_a', F32, 4, 1),
    d: g.weight('ssm_d', F32, 4, 1),
    state: g.state('scan', 'f32', SHAPE.slots, 64 * 8),
  });
}

/** Positions that an indexer of two heads chooses. */
function choice(g: GraphBuilder, x: Tensor): ChosenPositions {
  const k = slice(g, x, { offset: 0, width: 8 });
  const cache = { ...cacheFor(g), keys: g.state('index keys', 'f16', 48, 8), values: undefined };
  kvAppend(g, cache, k);
  const [q, weights] = [slice(g, x, { offset: 8, width: 16 }), slice(g, x, { offset: 0, width: 2 })];
  return choosePositions(g, indexScores(g, { q, weights, cache }), { count: 5, cache });
}

/** A mixture of four experts, 64 wide. */
function mixture(g: GraphBuilder, x: Tensor): Tensor {
  const rule = {
    topK: 2,
    gate: 'sigmoid',
    normalized: true,
    scale: 1,
    groups: 2,
    topKGroups: 1,
  } as const;
  const logits = matmul(g, x, g.weight('router', F32, 4, 64));
  const { expertIds, routingWeights } = routeExperts(g, logits, rule, {
    bias: g.weight('router.bias', F32, 1, 4),
  });
  const weight = g.weight('experts', Q4_0, 4 * 64, 64);
  const scales = g.weight('experts.scale', F32, 1, 4);
  const scaled = scaleExperts(g, matmulExperts(g, x, { expertIds, weight, outputs: 64 }), {
    expertIds,
    scales,
  });
  return combineExperts(g, scaled, routingWeights);
}

/** Compressed cells and streams' shares, and what ranks compute together: outputs of their own. */
function cellsAndStreams(g: GraphBuilder, x: Tensor): void {
  const of = { ratio: 4, positions: 4 } as const;
  const pending = (name: string) => g.state(name, 'f32', 48, 16);
  const cache = { ...cacheFor(g), keys: pending('cell values'), values: pending('cell scores') };
  const bias = g.weight('cell.bias', F32, of.ratio, 16);
  g.output('places', cellPlaces(g, of).own);
  g.output('cells', compressCells(g, { cache, bias, overlaps: false, ratio: of.ratio }));
  g.output('joined', joinCells(g, { ...of, window: 8, blocks: g.batch.blocks }).cells);
  const shares = streamShares(g, slice(g, x, { offset: 0, width: 8 }), {
    ...{ streams: 2, iterations: 2, epsilon: 1e-6 },
    scale: g.weight('streams.scale', F32, 1, 3),
    base: g.weight('streams.base', F32, 1, 8),
  });
  g.output('shares', shares);
  g.output('gathered', allGather(g, allReduce(g, hadamard(g, clamp(g, x, -1, 1), 16)), [64, 32]));
}

/** A graph with every kind of operator and all optional operands. */
export function graphOfEverything(): OpGraph {
  const g = builder();
  const x = embed(g, g.weight('table', Q4_0, 100, 64));
  const normed = rmsNorm(g, x, g.weight('norm', F32, 1, 64), 1e-5);
  const q = matmul(g, normed, g.weight('q', Q4_0, 64, 64), g.weight('q.bias', F32, 1, 64));
  const k = matmul(g, normed, g.weight('k', Q4_0, 32, 64));
  const v = matmul(g, normed, g.weight('v', Q4_0, 16, 64));
  const parameters = { dimensions: 16, base: 10_000, scaling: { kind: 'none' } } as const;
  const table = ropeTable(g, parameters, g.weight('factors', F32, 1, 8));
  const cache = cacheFor(g);
  kvAppend(g, cache, rope(g, k, { table, headSize: 16, pairs: 'neox' }), v);
  const attended = attention(g, q, cache, HEADS);
  g.output('sparse', attention(g, q, cache, { ...HEADS, chosen: choice(g, normed) }));
  const narrow = scale(g, mul(g, attended, g.weight('factor', F16, 1, 32)), 2);
  const both = matmul(g, narrow, g.weight('up', Q4_0, 96, 32));
  const wide = slice(g, both, { offset: 32, width: 64 });
  const inner = gated(g, 'silu', wide, unary(g, 'gelu', wide));
  const heads = matmulHeads(g, slice(g, inner, { offset: 0, width: 32 }), g.weight('heads', Q4_0, 32, 32), 1);
  const joined = concat(g, heads, slice(g, inner, { offset: 32, width: 32 }), { aPart: 8, bPart: 8 });
  const sum = add(g, mixture(g, joined), stateSpace(g, recurrence(g, x)));
  const weight = g.weight('ln', F32, 1, 64);
  const head = layerNorm(g, gatherRows(g, sum), {
    weight,
    bias: g.weight('ln.bias', F32, 1, 64),
    epsilon: 1e-5,
  });
  cellsAndStreams(g, x);
  const history = g.state('history', 'i32', SHAPE.slots, 64);
  g.output('ids', tokenAppend(g, history, g.state('sampled', 'i32', 4, 1)));
  const logits = matmul(g, head, g.weight('output', Q4_0, 100, 64));
  const row = g.input('parameters', { axis: 'outputs', width: SAMPLING_ROW_WORDS, type: 'i32' });
  const masks = g.state('masks', 'i32', SHAPE.slots, 64);
  const { tokens, report } = sample(g, { logits, parameters: row, history, masks, alternatives: 3 });
  g.output('tokens', tokens);
  g.output('report', report);
  return g.finish();
}
