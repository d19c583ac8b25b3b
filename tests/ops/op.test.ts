import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type BatchTensors,
  costOf,
  type Op,
  operandsOf,
  resultsOf,
  tensorBytes,
  type Value,
} from '../../src/ops/index.ts';
import { RUN_OPS } from '../../src/devices/reference/run-ops.ts';
import { graphOfEverything, SHAPE } from '../support/graph-of-everything.ts';

const graph = graphOfEverything();

/** Every value that an operator's fields name, found without knowing the operator. */
function namedBy(op: Op): Set<Value> {
  const found = new Set<Value>();
  const visit = (field: unknown) => {
    if (typeof field !== 'object' || field === null) return;
    const { kind } = field as { kind?: string };
    if (kind === 'tensor' || kind === 'weight' || kind === 'state') found.add(field as Value);
    else Object.values(field).forEach(visit);
  };
  for (const [name, field] of Object.entries(op)) {
    if (name !== 'batch') visit(field);
    // Of the batch's index tensors only those that are computed.
    else
      for (const index of Object.values(field as BatchTensors)) if (index.role === 'temp') found.add(index);
  }
  // The table of the cells' own cache, which others have in their cache.
  if (op.kind === 'joinCells') found.add(op.batch.blocks);
  return found;
}

test('operandsOf and resultsOf name everything that an operator names, once', () => {
  for (const op of graph.ops) {
    const indices = new Set<Value>(op.kind === 'gatherRows' ? [op.index] : []);
    const named = [...namedBy(op)].filter((value) => !indices.has(value));
    const listed = [...operandsOf(op), ...resultsOf(op)];
    assert.deepEqual(new Set(listed), new Set(named), op.kind);
    assert.equal(listed.length, new Set(listed).size, op.kind);
  }
});

test('every temporary is computed once, before it is read', () => {
  const computed = new Set<Value>(graph.inputs);
  for (const op of graph.ops) {
    for (const operand of operandsOf(op)) {
      assert.ok(operand.kind !== 'tensor' || computed.has(operand), `${op.kind} reads ${operand.name}`);
    }
    for (const result of resultsOf(op)) {
      assert.ok(!computed.has(result));
      computed.add(result);
    }
  }
});

test('every kind of operator is in the graph of everything', () => {
  const kinds = new Set<string>(graph.ops.map((op) => op.kind));
  assert.deepEqual([...kinds].sort(), Object.keys(RUN_OPS).sort());
});

const context = { rows: 5, outputs: 2, attended: 10 };

function costs(kind: Op['kind'], nth = 0) {
  const op = graph.ops.filter((candidate) => candidate.kind === kind)[nth];
  assert.ok(op, kind);
  return costOf(op, context);
}

test('costs count every byte and product once', () => {
  const q4Row = (64 / 32) * 18;
  assert.deepEqual(costs('embed'), { bytes: 5 * (q4Row + 64 * 4), flops: 0 });
  assert.deepEqual(costs('matmul'), { bytes: 64 * q4Row + 4 * 5 * 128, flops: 2 * 5 * 64 * 64 });
  const head = graph.ops.findIndex((op) => op.kind === 'sample') - 1;
  const logits = graph.ops[head];
  assert.ok(logits?.kind === 'matmul');
  assert.deepEqual(costOf(logits, context), {
    bytes: 100 * q4Row + 4 * 2 * 164,
    flops: 2 * 2 * 64 * 100,
  });
  assert.deepEqual(costs('scale'), { bytes: 5 * 2 * 32 * 4, flops: 5 * 32 });
  assert.deepEqual(costs('attention'), {
    bytes: 5 * (4 * (64 + 32) + 10 * 2 * 24 * 2),
    flops: 2 * 5 * 10 * 4 * 24,
  });
  assert.deepEqual(costs('gatherRows'), { bytes: 2 * 2 * 64 * 4, flops: 0 });
});

test('every operator costs something, and more for more rows', () => {
  for (const op of graph.ops) {
    const less = costOf(op, context);
    const more = costOf(op, { rows: 50, outputs: 20, attended: 10 });
    assert.ok(less.bytes > 0 && more.bytes > less.bytes && more.flops >= less.flops, op.kind);
  }
});

test('tensors take the bytes of their axis', () => {
  const bytes = (axis: 'rows' | 'outputs' | 'slots' | 'one') => {
    const of = { kind: 'tensor', id: 0, name: 't', role: 'input', type: 'f32', width: 7 } as const;
    return tensorBytes({ ...of, axis }, SHAPE);
  };
  assert.deepEqual([bytes('rows'), bytes('outputs'), bytes('slots'), bytes('one')], [224, 56, 84, 28]);
});
