import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { GoldenSequence } from '../../src/engine/golden.ts';
import { parseGolden } from '../../src/engine/golden.ts';
import type { LanguageModel } from '../../src/index.ts';
import { loadModel } from '../../src/index.ts';
import { LARGEST_DIFFERENCE } from '../support/family-fixtures.ts';
import { bestOf } from '../support/goldens.ts';
import { adapterPath, LORA_BASE, LORA_GOLDEN, writeAdapter } from '../support/lora-fixtures.ts';
import { temporaryFolder } from '../support/temporary.ts';

const ADAPTERS = { first: adapterPath('first'), second: adapterPath('second') };

function openWith(device: string, sequences = 1): Promise<LanguageModel> {
  const options = { device, adapters: ADAPTERS, sequences, threads: 2, cacheType: 'f32' } as const;
  return loadModel(LORA_BASE, { ...options, logitRows: 32, context: 64, load: 'eager' });
}

type AdaptedGolden = GoldenSequence & { readonly adapters: Readonly<Record<string, number>> };

async function readAdapted(): Promise<AdaptedGolden[]> {
  const text = await readFile(LORA_GOLDEN, 'utf8');
  const mixtures = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Pick<AdaptedGolden, 'adapters'>);
  return parseGolden(text).map((sequence, i) => ({
    ...sequence,
    adapters: mixtures[i]?.adapters ?? {},
  }));
}

for (const device of ['reference', 'cpu']) {
  test(`adapters, alone and mixed, match their golden on ${device}`, async () => {
    await using model = await openWith(device);
    for (const { ids, top, greedy, adapters } of await readAdapted()) {
      const chosen = new Map(Object.entries(adapters));
      const best: number[] = [];
      const all = [...ids, ...greedy.slice(0, -1)];
      for await (const { position, logits } of model.evaluate(all, 0, { adapters: chosen })) {
        if (position >= ids.length - 1) best.push(bestOf(logits));
        for (const [id, logit] of top[position] ?? []) {
          const difference = Math.abs((logits[id] ?? Number.NaN) - logit);
          assert.ok(difference < LARGEST_DIFFERENCE, `a logit differs by ${difference}`);
        }
      }
      assert.deepEqual(best, greedy);
    }
  });
}

async function generate(
  model: LanguageModel,
  ids: readonly number[],
  adapters: Readonly<Record<string, number>>,
) {
  const options = {
    maxTokens: 12,
    temperature: 0,
    ignoreEnd: true,
    adapters: new Map(Object.entries(adapters)),
  };
  const found: number[] = [];
  for await (const { token } of model.generate(ids, options)) if (token) found.push(token.id);
  return found;
}

test('requests side by side go through adapters of their own', async () => {
  await using model = await openWith('cpu', 3);
  const goldens = await readAdapted();
  // The same text through different adapters, one after the other and at once: no cache is taken for another's.
  const texts = goldens.filter(({ ids }) => ids.length === goldens[0]?.ids.length);
  assert.equal(texts.length, 3);
  const together = await Promise.all(texts.map(({ ids, adapters }) => generate(model, ids, adapters)));
  assert.deepEqual(
    together,
    texts.map(({ greedy }) => greedy),
  );
  for (const { ids, adapters, greedy } of texts)
    assert.deepEqual(await generate(model, ids, adapters), greedy);
  await using plain = await loadModel(LORA_BASE, {
    device: 'cpu',
    threads: 2,
    cacheType: 'f32',
    context: 64,
  });
  const [{ ids }] = texts as [AdaptedGolden];
  assert.deepEqual(await generate(model, ids, {}), await generate(plain, ids, {}));
});

test('adapters that there are not, and that do not fit, are refused', async (t) => {
  await using model = await openWith('cpu');
  const wanted = (name: string, scale = 1) => ({ adapters: new Map([[name, scale]]) });
  assert.throws(() => model.generate([1], wanted('third')), { code: 'INVALID_ARGUMENT' });
  assert.throws(() => model.generate([1], wanted('first', Number.NaN)), { code: 'INVALID_ARGUMENT' });
  const notAnAdapter = { device: 'cpu', adapters: { other: LORA_BASE } };
  await assert.rejects(loadModel(LORA_BASE, notAnAdapter), { code: 'ADAPTER_INVALID' });
  const path = join(temporaryFolder(t), 'embedding.gguf');
  await writeAdapter(path, { rank: 4, alpha: 1, targets: /token_embd/, seed: 1 });
  const misfit = loadModel(LORA_BASE, { device: 'cpu', adapters: { misfit: path } });
  await assert.rejects(misfit, { code: 'ADAPTER_INVALID' });
});
