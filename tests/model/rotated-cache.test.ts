import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openReferenceDevice } from '../../src/devices/reference/index.ts';
import type { CacheType } from '../../src/model/layer-states.ts';
import { appendRotated, attendRotated } from '../../src/model/blocks/rotated-cache.ts';
import { attention, type GraphBuilder, kvAppend, type PagedCache } from '../../src/ops/index.ts';
import { caseData, normal } from '../support/contract/case-data.ts';
import { pagedCache } from '../support/contract/cases/attention.ts';
import type { Fill, OpCase } from '../support/contract/op-case.ts';
import { plainBatch } from '../support/contract/ragged-batch.ts';
import { runCase } from '../support/contract/run-case.ts';

const HEADS = { heads: 4, kvHeads: 2, keySize: 64, valueSize: 64, scale: 1 / 64 } as const;
const WIDTH = HEADS.kvHeads * HEADS.keySize;
const batch = plainBatch(40);

/** Normal values, but for two channels of each head that are far larger, as keys of trained models have. */
const outliers: Fill = (elements, random) => {
  for (let i = 0; i < elements.length; i++) {
    elements[i] = normal(random) * ([5, 41].includes(i % HEADS.keySize) ? 30 : 1);
  }
};

type Record = (g: GraphBuilder, cache: PagedCache) => ReturnType<typeof attention>;

const inputs = (g: GraphBuilder) => ({
  q: g.input('q', { axis: 'rows', width: HEADS.heads * HEADS.keySize }),
  k: g.input('k', { axis: 'rows', width: WIDTH }),
  v: g.input('v', { axis: 'rows', width: WIDTH }),
});

const plain: Record = (g, cache) => {
  const { q, k, v } = inputs(g);
  kvAppend(g, cache, k, v);
  return attention(g, q, cache, HEADS);
};

const rotated: Record = (g, cache) => {
  const { q, k, v } = inputs(g);
  appendRotated(g, cache, HEADS, { k, v });
  return attendRotated(g, q, cache, HEADS);
};

async function mixedBy(record: Record, type: CacheType): Promise<Float32Array> {
  const of: OpCase = {
    op: 'attention',
    name: type,
    batch,
    record: (g) => ({ y: record(g, pagedCache(g, batch, { type, keys: WIDTH, values: WIDTH })) }),
    fill: { k: outliers, v: outliers },
  };
  await using device = openReferenceDevice();
  const bytes = (await runCase(device, caseData(of))).outputs.get('y');
  assert.ok(bytes);
  return new Float32Array(bytes.slice().buffer, 0, batch.slots.length * HEADS.heads * HEADS.valueSize);
}

/** The squared error relative to the squares. */
function errorOf(found: Float32Array, expected: Float32Array): number {
  const sum = (of: (i: number) => number) => expected.reduce((total, _, i) => total + of(i) ** 2, 0);
  return sum((i) => (found[i] as number) - (expected[i] as number)) / sum((i) => expected[i] as number);
}

test('rotation spreads outliers, so that few bits lose less', async () => {
  const exact = await mixedBy(plain, 'f32');
  for (const type of ['q4_0', 'q5_1'] as const) {
    const without = errorOf(await mixedBy(plain, type), exact);
    const error = errorOf(await mixedBy(rotated, type), exact);
    assert.ok(error < without / 2, `${type}: ${error} rotated, ${without} as it is`);
  }
});

test('types of more bits are not rotated', async () => {
  for (const type of ['f32', 'f16', 'q8_0'] as const) {
    assert.deepEqual(await mixedBy(rotated, type), await mixedBy(plain, type));
  }
});
