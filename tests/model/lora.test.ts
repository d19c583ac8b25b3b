import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import type { LanguageModel } from '../../src/index.ts';
import { loadModel } from '../../src/index.ts';
import { LORA_BASE, LORA_FILES, writeAdapter } from '../support/lora-fixtures.ts';
import { type AdaptedGolden, readAdapted } from '../support/lora-tests.ts';
import { temporaryFolder } from '../support/temporary.ts';

function openWith(sequences = 1): Promise<LanguageModel> {
  const options = { device: 'cpu', adapters: LORA_FILES, sequences, threads: 2, cacheType: 'f32' } as const;
  return loadModel(LORA_BASE, { ...options, logitRows: 32, context: 64, load: 'eager' });
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
  await using model = await openWith(3);
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
  await using model = await openWith();
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

test('adapters opened with a scale are what requests go through that choose none', async () => {
  const [golden] = (await readAdapted()).filter(({ adapters }) => Object.keys(adapters).length === 2);
  assert.ok(golden);
  const { ids, greedy, adapters: scales } = golden;
  const adapters = Object.fromEntries(
    Object.entries(LORA_FILES).map(([name, location]) => [name, { location, scale: scales[name] ?? 0 }]),
  );
  const options = { device: 'cpu', threads: 2, cacheType: 'f32', context: 64 } as const;
  await using model = await loadModel(LORA_BASE, { ...options, adapters });
  assert.deepEqual([...model.adapters], Object.entries(scales));
  const said = async (chosen?: ReadonlyMap<string, number>) => {
    const found: number[] = [];
    const how = { maxTokens: 12, temperature: 0, ignoreEnd: true, adapters: chosen };
    for await (const { token } of model.generate(ids, how)) if (token) found.push(token.id);
    return found;
  };
  assert.deepEqual(await said(), greedy);
  await using plain = await loadModel(LORA_BASE, options);
  assert.deepEqual(await said(new Map()), await generate(plain, ids, {}), 'an empty choice is none');
  const endless = { ...options, adapters: { first: { location: LORA_FILES.first ?? '', scale: Infinity } } };
  await assert.rejects(loadModel(LORA_BASE, endless), { code: 'INVALID_ARGUMENT' });
});
