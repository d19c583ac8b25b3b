import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allGather, allReduce, computeCollective, GraphBuilder } from '../../src/ops/index.ts';
import fc from '../support/fast-check.ts';

const graph = () => new GraphBuilder('group', { rows: 4, outputs: 1, slots: 1, blocksPerSlot: 1 });

const values = (length: number) =>
  fc.float32Array({
    minLength: length,
    maxLength: length,
    noNaN: true,
    noDefaultInfinity: true,
    max: 1e3,
    min: -1e3,
  });

test('a sum over ranks is that of f64 up to rounding, and leaves rows that are not in use', () => {
  const draw = fc
    .integer({ min: 2, max: 5 })
    .chain((ranks) => fc.tuple(...Array.from({ length: ranks }, () => values(12))));
  fc.assert(
    fc.property(draw, (parts) => {
      const g = graph();
      const out = allReduce(g, g.input('x', { axis: 'rows', width: 3 }));
      const [op] = g.finish().ops;
      assert.ok(op?.kind === 'allReduce' && op.out === out);
      const sum = new Float32Array(12).fill(-7);
      computeCollective(op, parts, { rows: 3, out: sum });
      for (let i = 0; i < 9; i++) {
        const terms = parts.map((part) => part[i] as number);
        const exact = terms.reduce((total, term) => total + term, 0);
        const size = terms.reduce((total, term) => total + Math.abs(term), 0);
        assert.ok(
          Math.abs((sum[i] as number) - exact) <= size * parts.length * 2 ** -24,
          `${sum[i]} is ${exact}`,
        );
      }
      assert.deepEqual([...sum.subarray(9)], [-7, -7, -7]);
    }),
  );
});

test('pieces of ranks stand side by side in each row, whatever their widths', () => {
  const g = graph();
  const out = allGather(g, g.input('x', { axis: 'rows', width: 2 }), [1, 2]);
  assert.equal(out.width, 3);
  const [op] = g.finish().ops;
  assert.ok(op?.kind === 'allGather');
  const joined = new Float32Array(6);
  computeCollective(op, [Float32Array.of(1, 4), Float32Array.of(2, 3, 5, 6)], { rows: 2, out: joined });
  assert.deepEqual([...joined], [1, 2, 3, 4, 5, 6]);
});

test('a collective refuses what no rank has', () => {
  const g = graph();
  const x = g.input('x', { axis: 'rows', width: 2 });
  const ids = g.input('ids', { axis: 'rows', width: 2, type: 'i32' });
  assert.throws(() => allGather(g, x, [1, 3]), { code: 'GRAPH_SHAPE' });
  assert.throws(() => allGather(g, x, [2, 0]), { code: 'GRAPH_SHAPE' });
  assert.throws(() => allReduce(g, ids), { code: 'GRAPH_SHAPE' });
});
