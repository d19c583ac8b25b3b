import { gatherRows, tokenAppend } from '../../../../src/ops/index.ts';
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

/** Token ids that no batch has. */
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
  appendCase('mixed', mixedBatch()),
  appendCase('a prompt', plainBatch(33)),
  appendCase('sampled tokens', { ...plainBatch(7), ids: [-1, 5, -6, 0, -3, -7, -(2 ** 31)] }),
  appendCase('one token', raggedBatch({ slices: [{ slot: 1, from: 63, count: 1 }] })),
];
