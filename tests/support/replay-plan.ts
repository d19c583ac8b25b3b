import assert from 'node:assert/strict';
import { applyByKind, type KindTable } from '../../src/base/kind-table.ts';
import type { Epilogue, Intent, Place, ProductInput } from '../../src/device/index.ts';
import {
  type Op,
  type OpGraph,
  operandsOf,
  resultsOf,
  type State,
  type Tensor,
} from '../../src/ops/index.ts';

/** What an intent reads and what it writes. */
interface Effects {
  readonly reads: readonly (Place | State | undefined)[];
  readonly writes: readonly (Place | State)[];
}

/** Any kind of planned product. */
interface WithParts {
  readonly x: ProductInput;
  readonly epilogue: Epilogue;
}

const ofProduct = ({ x, epilogue }: WithParts): Effects => {
  if (epilogue.kind === 'heads') {
    const { heads, widths, zeroed } = epilogue.of;
    const { keys, values } = heads.append.cache;
    const rotated = widths.q + widths.k > 0;
    return {
      reads: [x.x, ...(rotated ? [heads.rotation?.table] : [])],
      writes: [
        ...(widths.q > 0 ? [heads.attention.q] : []),
        ...(widths.k > 0 ? [keys] : []),
        ...(widths.v > 0 ? [values] : []),
        ...(zeroed ? [zeroed.memory] : []),
      ],
    };
  }
  return {
    reads: [x.x, ...(epilogue.kind === 'residual' ? [epilogue.addend] : [])],
    writes: [epilogue.y],
  };
};

const plain = (op: Op): Effects => ({
  reads: operandsOf(op).filter((operand): operand is Tensor => operand.kind === 'tensor'),
  writes: resultsOf(op),
});

const EFFECTS: KindTable<Intent, [], Effects> = {
  convert: ({ x, y }) => ({ reads: [x], writes: [y] }),
  matvec: ofProduct,
  matvecGroup: ({ x, products }) => ({ reads: [x.x], writes: products.map(({ out }) => out) }),
  product: ofProduct,
  libraryProduct: ofProduct,
  round: ({ of, y }) => ({ reads: of.kind === 'tensor' ? [of] : plain(of).reads, writes: [y.memory] }),
  roundedProduct: ({ x, epilogue }) => ofProduct({ x: { form: 'f16', x: x.memory }, epilogue }),
  splitHalves: ({ x, y }) => ({ reads: [x], writes: [y.high, y.low, y.scales] }),
  splitProduct: ({ x, epilogue }) => ({
    reads: [x.high, x.low, x.scales, ...(epilogue.kind === 'residual' ? [epilogue.addend] : [])],
    writes: [epilogue.y],
  }),
  elementProducts: ({ products }) => ({
    reads: products.flatMap(({ op, steps }) => [
      op.x,
      ...steps.flatMap(({ operands }) => operands.filter((operand) => operand.kind === 'tensor')),
    ]),
    writes: [...new Set(products.map(({ out, joined }) => joined?.memory ?? out))],
  }),
  elementChain: ({ x, steps, out }) => ({
    reads: [x, ...steps.flatMap(({ operands }) => operands.filter((operand) => operand.kind === 'tensor'))],
    writes: [out],
  }),
  headsAppend: ({ of, joined }) => {
    const { reads, writes } = ofProduct({ x: { form: 'q8', x: joined }, epilogue: { kind: 'heads', of } });
    return { reads, writes };
  },
  headsNormAppend: ({ heads, joined, rotation, zeroed }) => ({
    reads: [joined.q.memory, joined.k.memory, joined.v.memory, rotation.table],
    writes: [
      heads.attention.q,
      heads.append.cache.keys,
      heads.append.cache.values,
      ...(zeroed ? [zeroed.memory] : []),
    ],
  }),
  attention: ({ op, arrivals, y }) => ({
    reads: [op.q, op.causalLimit, op.batch.slots, op.cache.blocks, op.cache.keys, op.cache.values, arrivals],
    writes: [y],
  }),
  attentionTiles: ({ op, y }) => ({ reads: [op.q, op.cache.keys, op.cache.values], writes: [y] }),
  headProduct: ({ op, x }) => ({ reads: [x.x], writes: [op.out] }),
  expertProduct: ({ op, x }) => ({ reads: [x.x, op.expertIds], writes: [op.out] }),
  gatedExperts: ({ gate, x, routingWeights, y }) => ({
    reads: [x.x, gate.expertIds, routingWeights],
    writes: [y],
  }),
  addedExperts: ({ op, x, addend, y }) => ({ reads: [x.x, op.expertIds, addend], writes: [y] }),
  combineResidual: ({ op, addend, y }) => ({ reads: [op.x, op.routingWeights, addend], writes: [y] }),
  normResidual: ({ op, addend, y }) => ({ reads: [op.x, addend], writes: [y] }),
  reduceResidual: ({ op, addend, y }) => ({ reads: [op.x, addend], writes: [y] }),
  pushedSum: ({ x, op, addend, y }) => ({ reads: [x.x, addend], writes: [op.x, y] }),
  gatedNorm: ({ norm, op, y }) => ({ reads: [norm.x, op.gate], writes: [y] }),
  shiftLerps: ({ shift, lerps, rounded, norm }) => ({
    reads: [norm?.x ?? shift.x],
    writes: lerps.map(({ out }, m) => rounded[m]?.memory ?? out),
  }),
  wkv7: ({ op }) => plain(op),
  fusedWkv7: ({ op, of }) => ({ reads: [op.r, op.w, op.v, op.a, of.key, of.gate], writes: [of.out] }),
  fusedGatedDelta: ({ op, of }) => ({
    reads: [of.q.of, of.k.of, of.v.of, of.alpha, of.beta],
    writes: [op.out],
  }),
  embed: plain,
  routeExperts: plain,
  scaleExperts: plain,
  combineExperts: plain,
  add: plain,
  mul: plain,
  scale: plain,
  clamp: plain,
  unary: plain,
  gated: plain,
  slice: plain,
  concat: plain,
  lerp: plain,
  rmsNorm: plain,
  layerNorm: plain,
  groupNorm: plain,
  l2Norm: plain,
  gaussianTopK: plain,
  hadamard: plain,
  ropeTable: plain,
  rope: plain,
  tokenAppend: plain,
  kvAppend: ({ k, v, cache: { keys, values } }) => ({
    reads: [k, v],
    writes: values ? [keys, values] : [keys],
  }),
  tokenShift: plain,
  wkvBonus: plain,
  causalConv: plain,
  gatedDelta: plain,
  selectiveScan: plain,
  indexScores: plain,
  choosePositions: plain,
  cellPlaces: plain,
  compressCells: plain,
  joinCells: plain,
  streamShares: plain,
  allReduce: plain,
  allGather: plain,
  gatherRows: plain,
  sample: plain,
};

/**
 * Replays a plan for a graph: every intent reads values that were bound or computed before, in the form in which they
 * were computed; no value is computed twice, but for caches that several operators append to, and all outputs exist at the end.
 */
export function replayPlan(graph: OpGraph, intents: readonly Intent[], label: string): void {
  const appended = graph.ops.flatMap((op) =>
    op.kind === 'kvAppend' ? [op.cache.keys, ...(op.cache.values ? [op.cache.values] : [])] : [],
  );
  const states = graph.states.filter((state) => !appended.includes(state));
  const there = new Set<Place | State>([...graph.inputs, ...states]);
  for (const intent of intents) {
    const { reads, writes } = applyByKind(EFFECTS, intent);
    for (const read of reads) {
      assert.ok(read === undefined || there.has(read), `${label}: ${intent.kind} reads what is not there`);
    }
    for (const write of writes) {
      const isAgain = appended.filter((state) => state === write).length > 1;
      assert.ok(isAgain || !there.has(write), `${label}: ${intent.kind} computes what is there`);
      there.add(write);
    }
  }
  for (const { name, tensor } of graph.outputs) assert.ok(there.has(tensor), `${label}: ${name} is computed`);
}
