import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BankAllocator } from '../../../src/devices/cpu/memory/bank-allocator.ts';
import fc from '../../support/fast-check.ts';

const END = 64 * 1024;

/** Allocations (sizes) and releases (which of the live ones). */
const actions = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.record({ allocate: fc.integer({ min: 0, max: 8000 }) }) },
    { weight: 2, arbitrary: fc.record({ release: fc.nat() }) },
  ),
  { maxLength: 200 },
);

test('ranges are aligned, apart from each other and inside; what is released can be had again', () => {
  fc.assert(
    fc.property(actions, fc.constantFrom(64, 256), (list, alignment) => {
      const allocator = new BankAllocator(1000, alignment);
      const begin = allocator.end;
      allocator.extend(END);
      const live: { offset: number; byteLength: number }[] = [];
      for (const action of list) {
        if ('allocate' in action) {
          const byteLength = action.allocate;
          const offset = allocator.allocate(byteLength);
          if (offset === undefined) continue;
          assert.equal(offset % alignment, 0);
          assert.ok(offset >= begin && offset + allocator.sizeOf(byteLength) <= END);
          for (const other of live) {
            const apart =
              offset + allocator.sizeOf(byteLength) <= other.offset ||
              other.offset + allocator.sizeOf(other.byteLength) <= offset;
            assert.ok(apart, 'two ranges overlap');
          }
          live.push({ offset, byteLength });
        } else if (live.length > 0) {
          const [range] = live.splice(action.release % live.length, 1);
          if (range) allocator.release(range.offset, range.byteLength);
        }
        const used = live.reduce((sum, { byteLength }) => sum + allocator.sizeOf(byteLength), 0);
        assert.equal(allocator.freeBytes, END - begin - used);
      }
      for (const { offset, byteLength } of live) allocator.release(offset, byteLength);
      assert.equal(allocator.allocate(END - begin), begin, 'all gaps have become one');
    }),
  );
});

test('the smallest gap that fits is taken, and growth joins the gap at the end', () => {
  const allocator = new BankAllocator(0, 256);
  allocator.extend(256 * 16);
  const ranges = [4, 1, 2, 1, 8].map((units) => ({ units, offset: allocator.allocate(256 * units) ?? -1 }));
  for (const { units, offset } of [ranges[0], ranges[2]].flatMap((range) => range ?? [])) {
    allocator.release(offset, 256 * units);
  }
  assert.equal(allocator.allocate(512), ranges[2]?.offset);
  assert.equal(allocator.allocate(256 * 5), undefined);
  allocator.release(ranges[4]?.offset ?? -1, 256 * 8);
  assert.equal(allocator.missingBytes(256 * 10), 512);
  allocator.extend(256 * 18);
  assert.equal(allocator.allocate(256 * 10), ranges[4]?.offset);
});
