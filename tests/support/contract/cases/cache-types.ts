import { hadamard, type StateType } from '../../../../src/ops/index.ts';
import type { OpCase } from '../op-case.ts';
import { mixedBatch, plainBatch, type RaggedBatch } from '../ragged-batch.ts';
import { alone, appendCase, attentionCase, hardBlocks, long, prompts, turns } from './attention.ts';

/** Keys and values in blocks of fewer than eight bits, and of different types. */
const TYPES: readonly (readonly [keys: StateType, values: StateType])[] = [
  ['q4_0', 'q4_0'],
  ['q5_1', 'q5_1'],
  ['q4_0', 'q5_1'],
  ['q8_0', 'f16'],
  ['f16', 'q4_0'],
  ['f32', 'q8_0'],
];

const MIXED_CASES: readonly OpCase[] = TYPES.flatMap(([type, valueType]) => {
  const types = { type, valueType } as const;
  return [
    attentionCase('mixed', mixedBatch(), { heads: 4, kvHeads: 4, keySize: 32, ...types }),
    attentionCase('values of 96', mixedBatch({ blockSize: 1 }), {
      ...{ heads: 6, kvHeads: 1, keySize: 32, valueSize: 96, ...types },
    }),
    attentionCase('a row alone at 290', alone(290), { heads: 4, kvHeads: 2, keySize: 128, ...types }),
    attentionCase('prompts', prompts, { heads: 4, kvHeads: 2, keySize: 64, ...types }),
    appendCase('mixed', mixedBatch(), { ...types, keys: 64, values: 96 }),
    appendCase('hard blocks', plainBatch(5), { ...types, keys: 320, values: 224 }, hardBlocks),
  ];
});

const NARROW_CASES: readonly OpCase[] = (['q4_0', 'q5_1'] as const).flatMap((type) => {
  const latent = { heads: 6, kvHeads: 1, keySize: 96, valueSize: 64, type, latent: true } as const;
  return [
    attentionCase('long, sinks', long, { heads: 4, kvHeads: 2, keySize: 64, type, hasSinks: true }),
    attentionCase('in turns, window of 9', turns, { heads: 2, kvHeads: 2, keySize: 32, window: 9, type }),
    attentionCase('mixed, latent', mixedBatch(), latent),
    attentionCase('prompts, latent', prompts, latent),
    appendCase('mixed', mixedBatch(), { type, keys: 576, values: undefined }),
    appendCase('33 rows', plainBatch(33), { type, keys: 256, values: 32 }),
  ];
});

function hadamardCase(name: string, batch: RaggedBatch, width: number, size: number): OpCase {
  return {
    op: 'hadamard',
    name: `${width} wide, groups of ${size}, ${name}`,
    batch,
    record: (g) => ({ y: hadamard(g, g.input('x', { axis: 'rows', width }), size) }),
  };
}

/** Caches of several types, and the rotation that goes with those of few bits. */
export const CACHE_TYPE_CASES: readonly OpCase[] = [
  ...MIXED_CASES,
  ...NARROW_CASES,
  hadamardCase('mixed', mixedBatch(), 64, 64),
  hadamardCase('33 rows', plainBatch(33), 320, 64),
  hadamardCase('1 row', plainBatch(1), 512, 128),
  hadamardCase('3 rows', plainBatch(3), 96, 32),
];
