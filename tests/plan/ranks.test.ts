import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LanguageModel } from '../../src/index.ts';
import { loadModel } from '../../src/index.ts';
import type { SyntheticShape } from '../../src/model/synthetic-family.ts';
import { syntheticShape } from '../../src/model/synthetic/shapes.ts';
import { openDevice } from '../../src/node/devices.ts';
import { isCollective } from '../../src/ops/index.ts';
import { LORA_BASE, LORA_FILES } from '../support/lora-fixtures.ts';
import { fixture } from '../support/fixture.ts';
import { splitLayer } from '../support/split-layer.ts';

const LLAMA = fixture('families/llama.gguf');
const OPTIONS = { context: 16, batch: 4, logitRows: 4, cacheType: 'f32', device: 'cpu', threads: 2 } as const;

async function logitsOf(model: LanguageModel): Promise<number[]> {
  const found: number[] = [];
  for await (const { logits } of model.evaluate([1, 5, 9, 3])) found.push(...logits);
  return found;
}

test('a deterministic model over three devices gives the bits of one', async () => {
  await using one = await loadModel(LLAMA, { ...OPTIONS, deterministic: true });
  await using three = await loadModel(LLAMA, { ...OPTIONS, deterministic: true, tensorParallel: 3 });
  assert.deepEqual(await logitsOf(three), await logitsOf(one));
});

test('what a group of devices cannot do is refused', async () => {
  const bad = (options: object) => loadModel(LLAMA, { ...OPTIONS, tensorParallel: 2, ...options });
  for (const experts of ['host', 'stream']) {
    await assert.rejects(bad({ experts }), { code: 'INVALID_ARGUMENT', message: /tensorParallel/ });
  }
  await assert.rejects(loadModel(LORA_BASE, { ...OPTIONS, tensorParallel: 2, adapters: LORA_FILES }), {
    code: 'INVALID_ARGUMENT',
    message: /tensorParallel: found 2, expected for adapters .* stages of one each \(2x1\), or mergeAdapters/,
  });
  await assert.rejects(bad({ taps: new Map([['blk.0.attn_q', () => {}]]) }), {
    code: 'INVALID_ARGUMENT',
    message: /for taps, .*importance matrix.*, one device or stages of one each \(2x1\)/,
  });
  for (const tensorParallel of [0, 1.5, 65]) {
    await assert.rejects(openDevice({ device: 'null', tensorParallel }), { code: 'INVALID_ARGUMENT' });
  }
  await using model = await bad({});
  await assert.rejects(model.saveState([1, 5, 9]), { code: 'INVALID_ARGUMENT', message: /2 devices/ });
});

test("the memory of a group's devices is told for each", async () => {
  await using one = await loadModel(LLAMA, OPTIONS);
  await using three = await loadModel(LLAMA, { ...OPTIONS, tensorParallel: 3 });
  const [alone] = await one.cards();
  const cards = await three.cards();
  assert.deepEqual([(await one.cards()).length, cards.length], [1, 3]);
  for (const { name, total, free } of cards) {
    assert.equal(name, alone?.name);
    assert.ok(free > 0 && free <= total, `${free} of ${total}`);
  }
});

/** The widths that rank 0 has of a layer's states, by name, and what the ranks compute together in that layer. */
async function layerOf(shape: SyntheticShape, ranks: number) {
  const { states, ops } = await splitLayer(shape, ranks);
  return {
    states: Object.fromEntries(states.map(({ name, width }) => [name, width])),
    together: ops.filter(isCollective).map(({ kind, out }) => `${kind} ${out.width}`),
  };
}

test('recurrences are cut by heads, and the ranks meet twice a layer', async () => {
  const sums = (width: number, count: number) => Array.from({ length: count }, () => `allReduce ${width}`);
  const like = (architecture: string) => syntheticShape('llama-1b', { architecture });
  const cases: [SyntheticShape, Record<string, number>, readonly string[]][] = [
    [syntheticShape('qwen3.6-35b-a3b'), { conv: 12_288, delta: 262_144 }, sums(2048, 2)],
    [syntheticShape('rwkv7-2.9b'), { 'time shift': 2560, wkv: 81_920, 'channel shift': 2560 }, sums(2560, 2)],
    [like('qwen3next'), { conv: 12_288, delta: 262_144 }, sums(2048, 2)],
    [like('mamba'), { conv: 6144, scan: 32_768 }, ['allReduce 160', ...sums(2048, 1)]],
    [like('mamba2'), { conv: 12_288, scan: 262_144 }, sums(2048, 1)],
    [like('lfm2'), { conv: 2048 }, sums(2048, 2)],
  ];
  for (const [shape, states, together] of cases) {
    assert.deepEqual(await layerOf(shape, 2), { states, together }, shape.architecture);
  }
});

test('recurrences stay whole where the ranks would have rows of different sizes', async () => {
  const { states } = await layerOf(syntheticShape('rwkv7-2.9b'), 3);
  assert.equal(states.wkv, 163_840);
});
