import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BUFFER_ALIGNMENT, type Lifespan, planLifespans, planScratch } from '../../src/device/index.ts';
import { F32 } from '../../src/formats/index.ts';
import {
  add,
  GraphBuilder,
  matmul,
  type OpGraph,
  operandsOf,
  resultsOf,
  scale,
  type Tensor,
  tensorBytes,
} from '../../src/ops/index.ts';
import fc from '../support/fast-check.ts';

interface Block {
  readonly offset: number;
  readonly byteLength: number;
}

function overlap(a: Block, b: Block): boolean {
  return a.offset < b.offset + b.byteLength && b.offset < a.offset + a.byteLength;
}

const lifespan: fc.Arbitrary<Lifespan> = fc
  .record({
    byteLength: fc.integer({ min: 1, max: 5000 }),
    first: fc.nat(20),
    length: fc.nat(8),
  })
  .map(({ byteLength, first, length }) => ({ byteLength, first, last: first + length }));

test('lifespans that meet never share bytes', () => {
  fc.assert(
    fc.property(fc.array(lifespan, { maxLength: 40 }), (spans) => {
      const { offsets, byteLength } = planLifespans(spans);
      const blocks = spans.map((span, i) => ({ ...span, offset: offsets[i] ?? -1 }));
      for (const [i, a] of blocks.entries()) {
        assert.equal(a.offset % BUFFER_ALIGNMENT, 0);
        assert.ok(a.offset >= 0 && a.offset + a.byteLength <= byteLength);
        for (const b of blocks.slice(i + 1)) {
          assert.ok(a.last < b.first || b.last < a.first || !overlap(a, b));
        }
      }
      const padded = ({ byteLength: bytes }: Lifespan) =>
        Math.ceil(bytes / BUFFER_ALIGNMENT) * BUFFER_ALIGNMENT;
      const aliveAt = (step: number) =>
        spans
          .filter(({ first, last }) => first <= step && step <= last)
          .reduce((sum, span) => sum + padded(span), 0);
      const least = Math.max(0, ...Array.from({ length: 30 }, (_, step) => aliveAt(step)));
      assert.ok(byteLength >= least && byteLength <= spans.reduce((sum, span) => sum + padded(span), 0));
    }),
  );
});

/** Records a random straight line of operators, some of whose results are outputs. */
function randomGraph(choices: readonly number[]): OpGraph {
  const g = new GraphBuilder('random', { rows: 9, outputs: 1, slots: 1, blocksPerSlot: 1 });
  const pool: Tensor[] = [g.input('x', { axis: 'rows', width: 5 })];
  choices.forEach((choice, i) => {
    const a = pool[choice % pool.length] as Tensor;
    const b = pool[(choice >> 4) % pool.length] as Tensor;
    const pick = choice % 3;
    if (pick === 0) pool.push(scale(g, a, 2));
    else if (pick === 1 && a.width === b.width) pool.push(add(g, a, b));
    else pool.push(matmul(g, a, g.weight(`w${i}`, F32, 1 + (choice % 200), a.width)));
    if (choice % 7 === 0) g.output(`y${i}`, pool[pool.length - 1] as Tensor);
  });
  return g.finish();
}

test('no operator overwrites what it or a later one reads', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(100_000), { maxLength: 40 }), (choices) => {
      const graph = randomGraph(choices);
      const { offsets, byteLength } = planScratch(graph);
      const outputs = new Set(graph.outputs.map(({ tensor }) => tensor));
      const owner = new Array<Tensor | undefined>(byteLength / 4).fill(undefined);
      const cells = (tensor: Tensor) => {
        const offset = offsets.get(tensor);
        assert.equal(offset === undefined, outputs.has(tensor) || tensor.role === 'input', tensor.name);
        return offset === undefined ? [0, 0] : [offset / 4, (offset + tensorBytes(tensor, graph.shape)) / 4];
      };
      for (const op of graph.ops) {
        for (const result of resultsOf(op)) owner.fill(result, ...(cells(result) as [number, number]));
        for (const operand of operandsOf(op)) {
          if (operand.kind !== 'tensor') continue;
          const [start, end] = cells(operand);
          assert.ok(owner.slice(start, end).every((tensor) => tensor === operand));
        }
      }
    }),
  );
});

test('a chain of equal temporaries takes two places', () => {
  const g = new GraphBuilder('chain', { rows: 4, outputs: 1, slots: 1, blocksPerSlot: 1 });
  let x = g.input('x', { axis: 'rows', width: 100 });
  for (let i = 0; i < 10; i++) x = scale(g, x, 2);
  g.output('y', x);
  assert.equal(planScratch(g.finish()).byteLength, 2 * Math.ceil(1600 / 256) * 256);
});
