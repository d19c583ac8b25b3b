import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { type LanguageModel, loadModel, loadModelInWorker, type TextModel } from '../../src/index.ts';
import { LORA_BASE, LORA_FILES, writeAdapter } from '../support/lora-fixtures.ts';
import { type AdaptedGolden, readAdapted } from '../support/lora-tests.ts';
import { temporaryFolder } from '../support/temporary.ts';

function openWith(sequences = 1): Promise<LanguageModel> {
  const options = { device: 'cpu', adapters: LORA_FILES, sequences, threads: 2, cacheType: 'f32' } as const;
  return loadModel(LORA_BASE, { ...options, logitRows: 32, context: 64, load: 'eager' });
}

async function generate(
  model: TextModel,
  ids: readonly number[],
  adapters?: Readonly<Record<string, number>>,
) {
  const options = {
    maxTokens: 12,
    temperature: 0,
    ignoreEnd: true,
    ...(adapters && { adapters: new Map(Object.entries(adapters)) }),
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

test('adapters come and go behind running texts, on this thread and on another', async (t) => {
  const folder = temporaryFolder(t);
  const wide = join(folder, 'wide.gguf');
  await writeAdapter(wide, { rank: 20, alpha: 0, targets: /attn_q/, seed: 1 });
  const [golden] = (await readAdapted()).filter(({ adapters }) => adapters.first === 1);
  assert.ok(golden);
  const { ids, greedy } = golden;
  const options = { device: 'cpu', threads: 1, sequences: 3, cacheType: 'f32', context: 64 } as const;
  for (const load of [loadModel, loadModelInWorker]) {
    await using model = await load(LORA_BASE, { ...options, maxAdapters: 1 });
    const said = (adapters?: Readonly<Record<string, number>>) => generate(model, ids, adapters);
    const plain = await said();
    const stream = model.generate(ids, { maxTokens: 12, temperature: 0, ignoreEnd: true });
    let loading: Promise<void> | undefined;
    const rest: number[] = [];
    for await (const { token } of stream) {
      loading ??= model.loadAdapter('first', LORA_FILES.first ?? '');
      if (token) rest.push(token.id);
    }
    await loading;
    assert.deepEqual(rest, plain, 'a running text ends as it began');
    assert.deepEqual([await said(), await said({ first: 1 })], [plain, greedy]);
    await model.scaleAdapters(new Map([['first', 1]]));
    assert.deepEqual([...model.adapters], [['first', 1]]);
    assert.deepEqual([await said(), await said({})], [greedy, plain]);
    await assert.rejects(model.loadAdapter('second', LORA_FILES.second ?? ''), { code: 'ADAPTER_ROOM' });
    await assert.rejects(model.loadAdapter('first', wide), { code: 'ADAPTER_INVALID', message: /rank/ });
    await assert.rejects(model.loadAdapter('first', LORA_BASE), { code: 'ADAPTER_INVALID' });
    await assert.rejects(model.unloadAdapter('second'), { code: 'INVALID_ARGUMENT' });
    await assert.rejects(model.scaleAdapters(new Map([['first', Number.NaN]])), { code: 'INVALID_ARGUMENT' });
    assert.deepEqual([...model.adapters], [['first', 1]], 'what fails changes nothing');
    await model.loadAdapter('first', LORA_FILES.second ?? '');
    assert.notDeepEqual(await said({ first: 1 }), greedy, 'another one by the same name');
    await model.unloadAdapter('first');
    assert.throws(() => model.generate(ids, { adapters: new Map([['first', 1]]) }), {
      code: 'INVALID_ARGUMENT',
    });
    assert.deepEqual(await said(), plain);
  }
  await using closed = await loadModel(LORA_BASE, options);
  await assert.rejects(closed.loadAdapter('first', LORA_FILES.first ?? ''), { code: 'ADAPTER_ROOM' });
  for (const wrong of [{ maxAdapters: 0 }, { maxAdapters: 1.5 }, { maxAdapters: 1, maxAdapterRank: -1 }]) {
    await assert.rejects(loadModel(LORA_BASE, { ...options, ...wrong }), { code: 'INVALID_ARGUMENT' });
  }
});
