import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RowTrace } from '../../src/state/row-trace.ts';
import fc from '../support/fast-check.ts';

test('a trace says of every position what it was told last', () => {
  const notes = fc.array(
    fc.record({
      back: fc.nat(20),
      count: fc.integer({ min: 1, max: 9 }),
      capacity: fc.constantFrom(1, 8, 64),
    }),
  );
  fc.assert(
    fc.property(notes, fc.nat(60), (all, length) => {
      const trace = new RowTrace();
      const expected: number[] = [];
      for (const { back, count, capacity } of all) {
        const first = Math.max(0, expected.length - back);
        trace.note(first, count, capacity);
        expected.splice(first, Infinity, ...Array.from({ length: count }, () => capacity));
      }
      const part = trace.slice(length);
      expected.length = Math.min(length, expected.length);
      assert.equal(part.length, expected.length);
      for (let position = 0; position < part.length; position++) {
        const { count, capacity } = part.from(position);
        const same = expected.slice(position).findIndex((other) => other !== capacity);
        assert.equal(count, same < 0 ? expected.length - position : same);
      }
      assert.equal(part.from(part.length).count, 0);
    }),
  );
});

test('positions are noted in their order', () => {
  const trace = new RowTrace();
  assert.throws(() => trace.note(1, 1, 8), { code: 'INTERNAL' });
});
