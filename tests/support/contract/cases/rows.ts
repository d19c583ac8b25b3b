import { concat, gatherRows, slice, tokenAppend } from '../../../../src/ops/index.ts';
import type { Elements, OpCase } from '../op-case.ts';
import { mixedBatch, plainBatch, type RaggedBatch, raggedBatch } from '../ragged-batch.ts';

function gatherCase(name: string, width: number, batch: RaggedBatch): OpCase {
  return {
    op: 'gatherRows',
    name: `${name}, ${width} wide`,
    batch,
    record: (g) => ({ y: gatherRows(g, g.input('x', { axis: 'rows', width })) }),
  };
}

function sliceCase(width: number, offset: number, count: number): OpCase {
  return {
    op: 'slice',
    name: `columns ${offset} to ${offset + count} of ${width}`,
    batch: mixedBatch(),
    record: (g) => ({ y: slice(g, g.input('x', { axis: 'rows', width }), { offset, width: count }) }),
  };
}

/** A part of each head. */
function headSliceCase(heads: number, stride: number, of: { offset: number; segmentWidth: number }): OpCase {
  return {
    op: 'slice',
    name: `columns ${of.offset} to ${of.offset + of.segmentWidth} of ${heads} x ${stride}`,
    batch: mixedBatch(),
    record: (g) => {
      const x = g.input('x', { axis: 'rows', width: heads * stride });
      return { y: slice(g, x, { ...of, stride, width: heads * of.segmentWidth }) };
    },
  };
}

/** Parts of each head, or one part of `b` appended to every head's. */
function concatCase(parts: number, of: { aPart: number; bPart: number; shared?: boolean }): OpCase {
  const { aPart, bPart, shared = false } = of;
  return {
    op: 'concat',
    name: `${parts} x ${aPart} and ${shared ? 'one' : parts} x ${bPart}`,
    batch: mixedBatch(),
    record: (g) => {
      const a = g.input('a', { axis: 'rows', width: parts * aPart });
      const b = g.input('b', { axis: 'rows', width: (shared ? 1 : parts) * bPart });
      return { y: concat(g, a, b, { aPart, bPart }) };
    },
  };
}

const concatOfOne: OpCase = {
  op: 'concat',
  name: 'of one tensor with itself',
  batch: mixedBatch(),
  record: (g) => {
    const a = g.input('a', { axis: 'rows', width: 24 });
    return { y: concat(g, a, a, { aPart: 8, bPart: 8 }) };
  },
};

/** Token ids that are in no batch. */
export function fillTokens(elements: Elements, random: () => number): void {
  for (let i = 0; i < elements.length; i++) elements[i] = 1000 + Math.floor(random() * 1000);
}

function appendCase(name: string, batch: RaggedBatch): OpCase {
  return {
    op: 'tokenAppend',
    name,
    batch,
    record: (g) => ({
      y: tokenAppend(g, g.state('history', 'i32', batch.shape.slots, 64), g.state('tokens', 'i32', 6, 1)),
    }),
    fill: { history: fillTokens, tokens: fillTokens },
  };
}

export const ROWS_CASES: readonly OpCase[] = [
  gatherCase('mixed', 96, mixedBatch()),
  gatherCase('mixed', 1, mixedBatch()),
  gatherCase('mixed', 1025, mixedBatch()),
  gatherCase('all', 33, plainBatch(33)),
  gatherCase('one', 33, plainBatch(1)),
  gatherCase('none', 8, raggedBatch({ slices: [{ slot: 0, from: 0, count: 3, outputs: 'none' }] })),
  sliceCase(96, 0, 32),
  sliceCase(96, 64, 32),
  sliceCase(1025, 1, 1000),
  sliceCase(7, 3, 1),
  sliceCase(5, 0, 5),
  headSliceCase(4, 64, { offset: 0, segmentWidth: 32 }),
  headSliceCase(4, 64, { offset: 32, segmentWidth: 32 }),
  headSliceCase(3, 5, { offset: 1, segmentWidth: 2 }),
  concatCase(1, { aPart: 512, bPart: 64 }),
  concatCase(4, { aPart: 32, bPart: 16 }),
  concatCase(5, { aPart: 24, bPart: 8, shared: true }),
  concatCase(3, { aPart: 1, bPart: 7 }),
  concatOfOne,
  appendCase('mixed', mixedBatch()),
  appendCase('a prompt', plainBatch(33)),
  appendCase('sampled tokens', { ...plainBatch(7), ids: [-1, 5, -6, 0, -3, -7, -(2 ** 31)] }),
  appendCase('one token', raggedBatch({ slices: [{ slot: 1, from: 63, count: 1 }] })),
];
