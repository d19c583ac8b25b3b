import assert from 'node:assert/strict';
import type { Device } from '../../../src/device/index.ts';
import { F32, Q4_0, Q4_K, Q6_K, type TensorFormat } from '../../../src/formats/index.ts';
import {
  add,
  allGather,
  allReduce,
  type AllReduceOp,
  type CollectiveOp,
  computeCollective,
  type GraphBuilder,
  isCollective,
  matmul,
  type Op,
  scale,
  type Tensor,
} from '../../../src/ops/index.ts';
import { type CaseData, caseData, rowsInUse } from './case-data.ts';
import type { OpCase } from './op-case.ts';
import { mixedBatch, plainBatch, type RaggedBatch } from './ragged-batch.ts';
import { type CaseRun, runCase } from './run-case.ts';

/** What ranks compute together: the case of each rank, whose inputs differ. */
export interface CollectiveCase {
  readonly name: string;
  readonly batch: RaggedBatch;
  /** The case of one rank of several. */
  of(rank: number, ranks: number): Pick<OpCase, 'op' | 'record'>;
}

function reduceCase(width: number, batch: RaggedBatch, axis: 'rows' | 'outputs' = 'rows'): CollectiveCase {
  return {
    name: `allReduce of ${batch.rows} rows, ${width} wide, over ${axis}`,
    batch,
    of: () => ({ op: 'allReduce', record: (g) => ({ y: allReduce(g, g.input('x', { axis, width })) }) }),
  };
}

function gatherCase(widthOf: (rank: number) => number, batch: RaggedBatch): CollectiveCase {
  return {
    name: `allGather of ${batch.rows} rows, ${widthOf(0)} wide on rank 0`,
    batch,
    of: (rank, ranks) => ({
      op: 'allGather',
      record: (g) => {
        const x = g.input('x', { axis: 'rows', width: widthOf(rank) });
        return {
          y: allGather(
            g,
            x,
            Array.from({ length: ranks }, (_, other) => widthOf(other)),
          ),
        };
      },
    }),
  };
}

/** Sums of which one is added to another, as a layer's are to what it was given. */
function sumCase(width: number): CollectiveCase {
  return {
    name: `a sum of rows ${width} wide that is added to another`,
    batch: plainBatch(5),
    of: (rank) => ({
      op: 'allReduce',
      record: (g) => {
        const x = g.input('x', { axis: 'rows', width });
        return { y: add(g, allReduce(g, scale(g, x, 1 + rank)), allReduce(g, x)) };
      },
    }),
  };
}

/** Every collective: even and odd sizes, fewer rows than the capacity, one pass over the inboxes and several. */
export const COLLECTIVE_CASES: readonly CollectiveCase[] = [
  reduceCase(1, plainBatch(1)),
  reduceCase(33, mixedBatch()),
  reduceCase(64, mixedBatch(), 'outputs'),
  reduceCase(4099, plainBatch(1)),
  reduceCase(8200, plainBatch(5)),
  ...[96, 2052].map(sumCase),
  gatherCase((rank) => 1 + rank, mixedBatch()),
  gatherCase((rank) => 130 - rank, mixedBatch()),
  gatherCase((rank) => (rank === 1 ? 5000 : 7), plainBatch(1)),
  {
    name: 'several in one step, with work between them',
    batch: mixedBatch(),
    of: (rank, ranks) => ({
      op: 'allReduce',
      record: (g) => {
        const x = g.input('x', { axis: 'rows', width: 96 });
        const sum = allReduce(g, scale(g, x, 1 / ranks));
        const twice = allReduce(g, scale(g, sum, 1 + rank));
        return {
          y: allGather(
            g,
            twice,
            Array.from({ length: ranks }, () => 96),
          ),
        };
      },
    }),
  },
];

/** Runs a case twice on all ranks and compares every rank's result with the definition, bit by bit. */
export async function checkCollective(devices: readonly Device[], of: CollectiveCase): Promise<void> {
  const ranks = rankCases(of, devices.length);
  const runs = await runTogether(devices, ranks);
  const expected = expectedOf(ranks, of.batch);
  for (const [rank, { outputs, violations }] of runs.entries()) {
    assert.deepEqual(violations, [], `${of.name}: rank ${rank}`);
    const bytes = outputs.get('y') ?? assert.fail('y is an output');
    const found = new Float32Array(bytes.buffer, bytes.byteOffset, expected.length);
    assert.deepEqual(found, expected, `${of.name}: rank ${rank}`);
  }
}

/** Runs the case of each rank twice, all at once when each has what it needs: one that runs waits for the others. */
async function runTogether(
  devices: readonly Device[],
  ranks: readonly CaseData[],
): Promise<readonly CaseRun[]> {
  let start: () => void = () => {};
  const started = new Promise<void>((resolve) => {
    start = resolve;
  });
  let missing = devices.length;
  const before = async () => {
    missing--;
    if (missing === 0) start();
    await started;
  };
  const between = async () => {};
  const runs = devices.map(async (device, rank) => {
    try {
      return await runCase(device, ranks[rank] as CaseData, 'whole', { before, between });
    } finally {
      start();
    }
  });
  const settled = await Promise.allSettled(runs);
  return settled.map((run) => {
    if (run.status === 'rejected') throw run.reason;
    return run.value;
  });
}

/** The graph and contents of each rank. */
export function rankCases(of: CollectiveCase, count: number): readonly CaseData[] {
  return Array.from({ length: count }, (_, index) => {
    const name = `${of.name} ${'.'.repeat(index)}`;
    const data = caseData({ ...of.of(index, count), batch: of.batch, name });
    return { ...data, graph: { ...data.graph, rank: { index, count } } };
  });
}

/** The result that all ranks should have, of the rows in use. */
function expectedOf(ranks: readonly CaseData[], batch: RaggedBatch): Float32Array {
  const values = ranks.map(({ inputs }) => {
    const numbers = [...inputs].filter(([{ type }]) => type === 'f32');
    return new Map(numbers.map(([tensor, bytes]) => [tensor, new Float32Array(bytes.slice().buffer)]));
  });
  const valueOf = (tensor: Tensor, rank: number) => values[rank]?.get(tensor) ?? assert.fail(tensor.name);
  for (const index of (ranks[0] as CaseData).graph.ops.keys()) {
    const each = ranks.map(({ graph }) => graph.ops[index] as Op);
    const [op] = each as [Op];
    if (isCollective(op)) {
      const rows = rowsInUse(op.x, batch);
      const out = new Float32Array(rows * op.out.width);
      const parts = each.map((own, rank) => valueOf((own as CollectiveOp).x, rank));
      computeCollective(op as CollectiveOp, parts, { rows, out });
      for (const [rank, own] of each.entries()) values[rank]?.set((own as CollectiveOp).out, out);
    } else {
      for (const [rank, own] of each.entries())
        computeAlone(own, (tensor) => valueOf(tensor, rank), values[rank]);
    }
  }
  const last = (ranks[0] as CaseData).graph.outputs[0]?.tensor ?? assert.fail('y is an output');
  return valueOf(last, 0);
}

function computeAlone(
  op: Op,
  valueOf: (tensor: Tensor) => Float32Array,
  values: Map<Tensor, Float32Array> | undefined,
): void {
  if (op.kind === 'scale') {
    values?.set(
      op.out,
      valueOf(op.x).map((value) => Math.fround(value * Math.fround(op.factor))),
    );
  } else {
    assert.ok(op.kind === 'add' && op.b.kind === 'tensor');
    const b = valueOf(op.b);
    values?.set(
      op.out,
      valueOf(op.a).map((value, i) => Math.fround(value + (b[i] as number))),
    );
  }
}

/** A product of which every rank has a part of the sum, to which another tensor is added, and the bias of the first rank. */
export interface PartialProductCase {
  readonly format: TensorFormat;
  readonly columns: number;
  readonly outputs: number;
  readonly batch: RaggedBatch;
  readonly bias?: boolean;
}

/** Products of few rows, of more than a group may send at once, of more than those, and of an odd number of outputs. */
export const PARTIAL_PRODUCTS: readonly PartialProductCase[] = [
  { format: Q4_0, columns: 96, outputs: 64, batch: plainBatch(1) },
  { format: Q6_K, columns: 512, outputs: 270, batch: plainBatch(4), bias: true },
  { format: Q4_K, columns: 256, outputs: 130, batch: mixedBatch() },
  { format: Q4_0, columns: 64, outputs: 33, batch: plainBatch(1) },
  { format: Q4_0, columns: 64, outputs: 1402, batch: plainBatch(1) },
];

/** Runs a case twice on all ranks: each must have the bits of the products computed apart, added up in the order of the ranks. */
export async function checkPartialProduct(
  devices: readonly Device[],
  { format, columns, outputs, batch, bias = false }: PartialProductCase,
): Promise<void> {
  const name = `${outputs} x ${columns} in ${format.name}, ${batch.rows} rows`;
  const product = (g: GraphBuilder, rank: number) => {
    const x = g.input('x', { axis: 'rows', width: columns });
    const of = g.weight('weight', format, outputs, columns);
    return matmul(g, x, of, bias && rank === 0 ? g.weight('bias', F32, 1, outputs) : undefined);
  };
  const sums = rankCases(
    {
      name,
      batch,
      of: (rank) => ({
        op: 'allReduce',
        record: (g) => {
          const more = g.input('more', { axis: 'rows', width: outputs });
          return { y: add(g, more, allReduce(g, product(g, rank))) };
        },
      }),
    },
    devices.length,
  );
  const parts: Float32Array[] = [];
  for (const [rank, device] of devices.entries()) {
    const apart = caseData({ op: 'matmul', name, batch, record: (g) => ({ y: product(g, rank) }) });
    const own = sums[rank] as CaseData;
    const data = {
      ...apart,
      inputs: named(apart.inputs, own.inputs),
      weights: named(apart.weights, own.weights),
    };
    const { outputs: found } = await runCase(device, data);
    parts.push(numbersOf(found));
  }
  const sum = new Float32Array(batch.rows * outputs);
  const op = sums[0]?.graph.ops.find((one): one is AllReduceOp => one.kind === 'allReduce');
  computeCollective(op ?? assert.fail('it is recorded'), parts, { rows: batch.rows, out: sum });
  const runs = await runTogether(devices, sums);
  for (const [rank, { outputs: found, violations }] of runs.entries()) {
    const [, more] = [...(sums[rank] as CaseData).inputs].find(([of]) => of.name === 'more') ?? assert.fail();
    const added = new Float32Array(more.slice().buffer);
    const expected = sum.map((value, i) => value + (added[i] as number));
    assert.deepEqual(violations, [], `${name}: rank ${rank}`);
    assert.deepEqual(numbersOf(found).subarray(0, sum.length), expected, `${name}: rank ${rank}`);
  }
}

function numbersOf(outputs: ReadonlyMap<string, Uint8Array>): Float32Array {
  const bytes = outputs.get('y') ?? assert.fail('y is an output');
  return new Float32Array(bytes.slice().buffer);
}

/** The contents of values that are called the same. */
function named<V extends { readonly name: string }>(
  values: ReadonlyMap<V, Uint8Array>,
  contents: ReadonlyMap<V, Uint8Array>,
): ReadonlyMap<V, Uint8Array> {
  const byName = new Map([...contents].map(([{ name }, bytes]) => [name, bytes]));
  return new Map(
    [...values.keys()].map((value) => [value, byName.get(value.name) ?? assert.fail(value.name)]),
  );
}
