import assert from 'node:assert/strict';
import type { Device } from '../../../src/device/index.ts';
import {
  add,
  allGather,
  allReduce,
  type CollectiveOp,
  computeCollective,
  isCollective,
  type Op,
  scale,
  type Tensor,
} from '../../../src/ops/index.ts';
import { type CaseData, caseData, rowsInUse } from './case-data.ts';
import type { OpCase } from './op-case.ts';
import { mixedBatch, plainBatch, type RaggedBatch } from './ragged-batch.ts';
import { runCase } from './run-case.ts';

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
  // Ahead, as a group does it: a rank that runs waits for the others.
  await Promise.all(devices.map((device, rank) => device.compile((ranks[rank] as CaseData).graph)));
  const settled = await Promise.allSettled(
    devices.map((device, rank) => runCase(device, ranks[rank] as CaseData, 'whole', async () => {})),
  );
  const runs = settled.map((run) => {
    if (run.status === 'rejected') throw run.reason;
    return run.value;
  });
  const expected = expectedOf(ranks, of.batch);
  for (const [rank, { outputs, violations }] of runs.entries()) {
    assert.deepEqual(violations, [], `${of.name}: rank ${rank}`);
    const bytes = outputs.get('y') ?? assert.fail('y is an output');
    const found = new Float32Array(bytes.buffer, bytes.byteOffset, expected.length);
    assert.deepEqual(found, expected, `${of.name}: rank ${rank}`);
  }
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
