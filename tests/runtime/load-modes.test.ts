import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { isRocmforgeError } from '../../src/base/errors.ts';
import { byteSize } from '../../src/cli/options.ts';
import { type Device, type DeviceBuffer, MemoryBudget, wholeOf } from '../../src/device/index.ts';
import { openReferenceDevice } from '../../src/devices/reference/index.ts';
import { LanguageModel, type ModelOptions } from '../../src/engine/language-model.ts';
import { LOAD_MODES } from '../../src/runtime/opening/load-mode.ts';
import { LoadTrace } from '../../src/load/load-trace.ts';
import { GgufFile } from '../../src/gguf/index.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { openCpu } from '../../src/node/open-cpu.ts';
import { openGguf } from '../../src/node/open-gguf.ts';
import { deviceWith } from '../support/device-with.ts';
import { checkPools } from '../support/load-pools.ts';
import { openMappings } from '../support/open-handles.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { TINY, tinyBytes } from '../support/tiny-model.ts';
import { WatchedSource } from '../support/watched-source.ts';

const PROMPT = Array.from({ length: 9 }, (_, i) => 3 + ((i * 37) % 256));
const GREEDY = { temperature: 0, maxTokens: 6, ignoreEnd: true } as const;

async function open(
  options: ModelOptions,
  device: Device = openReferenceDevice(),
): Promise<{ source: WatchedSource; model: LanguageModel }> {
  const source = new WatchedSource(await tinyBytes('Q8_0'));
  const gguf = await GgufFile.open(source);
  source.reads = 0;
  source.bytesRead = 0;
  return {
    source,
    model: await LanguageModel.open({ gguf, device, architectures: ALL_ARCHITECTURES }, options),
  };
}

async function tokensOf(model: LanguageModel): Promise<number[]> {
  const ids: number[] = [];
  for await (const { token } of model.generate(PROMPT, GREEDY)) if (token) ids.push(token.id);
  return ids;
}

async function expectedTokens(): Promise<number[]> {
  const { model } = await open({ load: 'eager' });
  await using _ = model;
  return await tokensOf(model);
}

for (const load of LOAD_MODES) {
  test(`loading ${load}: the same tokens, every weight read once`, async () => {
    const { source, model } = await open({ load, batch: 4 });
    await using _ = model;
    assert.deepEqual(await tokensOf(model), await expectedTokens());
    const weights = model.plan.weights.reduce((sum, { tensors }) => {
      return sum + tensors.reduce((bytes, { byteLength }) => bytes + byteLength, 0);
    }, 0);
    await Promise.all(model.plan.weights.map((tensor) => tensor.ready()));
    assert.equal(source.bytesRead, weights);
    assert.equal(model.plan.isLoaded, true);
  });
}

test('opening a lazy model reads and uploads no byte of any weight', async () => {
  const { source, model } = await open({ load: 'lazy' });
  await using _ = model;
  const { breakdown } = await model.loaded;
  assert.equal(source.reads, 0);
  assert.deepEqual([breakdown.open.sum > 0, breakdown.plan.sum > 0, breakdown.read.sum], [true, true, 0]);
  assert.ok(model.plan.weights.every(({ state }) => state === 'unloaded'));
  assert.deepEqual(
    Array.from({ length: TINY.layers }, (_, layer) => model.plan.isLayerLoaded(layer)),
    [false, false, false],
  );
  await model.plan.getOrLoadLayerWeights(1);
  assert.deepEqual(
    [0, 1, 2].map((layer) => model.plan.isLayerLoaded(layer)),
    [false, true, false],
  );
  const norm = await model.plan.getOrLoadTensor('output_norm.weight');
  assert.equal(norm.state, 'resident');
  assert.ok((await model.plan.getOrLoadEmbedding()).every(({ isResident }) => isResident));
  assert.ok((await model.plan.getOrLoadLmHead()).every(({ isResident }) => isResident));
});

test('a hybrid model has embedding, head and its first layers', async () => {
  const { model } = await open({ load: 'hybrid', layers: 2 });
  await using _ = model;
  assert.deepEqual(
    [0, 1, 2].map((layer) => model.plan.isLayerLoaded(layer)),
    [true, true, false],
  );
});

test('in the background the first layer runs before the last one is read', async () => {
  let free = () => {};
  const held = new Promise<void>((resolve) => {
    free = resolve;
  });
  const device = openReferenceDevice();
  const ran: string[] = [];
  const watched = deviceWith(device, {
    createStream: (label) => {
      const stream = device.createStream(label);
      const { run } = stream;
      stream.run = (step) => {
        ran.push(step.label);
        if (step.label.startsWith('layer 1')) free();
        run.call(stream, step);
      };
      return stream;
    },
  });
  const source = new WatchedSource(await tinyBytes());
  const gguf = await GgufFile.open(source);
  const last = gguf.tensors.find(({ name }) => name === 'blk.2.ffn_down.weight');
  // Layer 1 has to be queued before the last layer can be read: otherwise this test would never end.
  source.onRead = (offset) => (offset === last?.offset ? held : undefined);
  const trace = new LoadTrace();
  const parts = { gguf, device: watched, architectures: ALL_ARCHITECTURES };
  await using model = await LanguageModel.open(parts, { trace });
  await tokensOf(model);
  assert.deepEqual(
    ran.slice(0, 4).map((label) => label.replace(/ \d+$/, '')),
    ['embedding', 'layer 0', 'layer 1', 'layer 2'],
  );
  const computed = trace.spans.filter(({ row }) => row === 'compute');
  const uploaded = trace.spans.filter(({ row }) => row.startsWith('stream'));
  assert.deepEqual(
    computed.slice(0, 3).map(({ name }) => name),
    ['embedding', 'layer 0', 'layer 1'],
  );
  assert.ok(Math.max(...uploaded.map(({ end }) => end)) > (computed[1]?.end ?? Number.POSITIVE_INFINITY));
});

test('a layer can be computed by itself, and loads its own weights alone', async () => {
  await using device = openReferenceDevice();
  const buffers = new Map<string, DeviceBuffer>();
  const watched = deviceWith(device, {
    [Symbol.asyncDispose]: async () => {},
    createBuffer: (byteLength, label) => {
      const buffer = device.createBuffer(byteLength, label);
      buffers.set(label, buffer);
      return buffer;
    },
  });
  const { model } = await open({ load: 'lazy' }, watched);
  await using _ = model;
  const { plan } = model;
  const last = TINY.layers - 1;
  await using stream = device.createStream('layer');
  await plan.forwardLayer(stream, plan.planFor(1, 1), last);
  await stream.synchronize();
  assert.deepEqual(
    [0, 1, 2].map((layer) => plan.isLayerLoaded(layer)),
    [false, false, true],
  );
  // What a whole step leaves on the device is what its last layer computes from it once more.
  for await (const logits of model.evaluate([1, 40, 41], 2)) assert.ok(logits);
  const left = buffers.get(`x ${last % 2 === 0 ? 1 : 0}`);
  assert.ok(left);
  const once = new Uint8Array(4 * TINY.width);
  await stream.download(wholeOf(left), once);
  assert.ok(once.some((byte) => byte !== 0));
  stream.upload(new Uint8Array(once.byteLength), wholeOf(left));
  await plan.forwardLayer(stream, plan.planFor(1, 1), last);
  const again = new Uint8Array(once.byteLength);
  await stream.download(wholeOf(left), again);
  assert.deepEqual(again, once);
});

test('a weight that cannot be read fails the generation; the next one tries again', async () => {
  const { source, model } = await open({ load: 'lazy' });
  await using _ = model;
  source.failFrom = 5;
  await assert.rejects(tokensOf(model), (error) => isRocmforgeError(error, 'READ_FAILED'));
  source.failFrom = undefined;
  assert.deepEqual(await tokensOf(model), await expectedTokens());
});

test('a load that fails before the model is given out leaves nothing behind', async () => {
  const source = new WatchedSource(await tinyBytes());
  await using gguf = await GgufFile.open(source);
  await using device = openReferenceDevice();
  const parts = { gguf, device, architectures: ALL_ARCHITECTURES };
  for (const load of ['eager', 'sync', 'hybrid'] as const) {
    source.failFrom = source.reads + 7;
    await assert.rejects(LanguageModel.open(parts, { load }), (error) =>
      isRocmforgeError(error, 'READ_FAILED'),
    );
    assert.equal(device.liveObjects(), 0);
    const aborted = { load, signal: AbortSignal.abort() };
    await assert.rejects(LanguageModel.open(parts, aborted), (error) => isRocmforgeError(error, 'ABORTED'));
    assert.equal(device.liveObjects(), 0);
  }
});

test('disposing a model that is still loading releases everything, and does not wait for the rest', async () => {
  const device = openReferenceDevice();
  const source = new WatchedSource(await tinyBytes('Q8_0'));
  const gguf = await GgufFile.open(source);
  source.reads = 0;
  let release = (): void => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  source.onRead = () => held;
  const parts = { gguf, device, architectures: ALL_ARCHITECTURES };
  const model = await LanguageModel.open(parts);
  const answering = assert.rejects(tokensOf(model), { code: 'DISPOSED' });
  await new Promise((resolve) => setTimeout(resolve, 8));
  const disposed = model.dispose();
  release();
  await disposed;
  await answering;
  await assert.rejects(model.loaded, (error) => isRocmforgeError(error, 'DISPOSED'));
  assert.ok(source.reads < gguf.tensors.length, `${source.reads} reads`);
  assert.equal(device.liveObjects(), 0);
});

for (const [name, openDevice] of [
  ['reference', async () => openReferenceDevice()],
  ['cpu', () => openCpu({ threads: 2 })],
] as const) {
  test(`weights that do not fit are streamed through slots, with the same tokens: ${name}`, async () => {
    const { model: whole } = await open({ load: 'eager', batch: 4 }, await openDevice());
    const expected = await tokensOf(whole);
    const all = whole.fit.weights;
    await whole.dispose();
    const options = { weightMemory: Math.floor(0.9 * all), batch: 4 };
    const { source, model } = await open(options, await openDevice());
    await using _ = model;
    assert.equal(model.fit.streamedParts, TINY.layers);
    assert.ok(model.fit.weights <= 0.9 * all, `${model.fit.weights} of ${all}`);
    assert.deepEqual(await tokensOf(model), expected);
    assert.deepEqual(await tokensOf(model), expected);
    assert.equal(model.plan.isLoaded, false);
    // A pass that breaks off leaves the slots to the wrong layers.
    for (const after of [1, 9, 14]) {
      source.failFrom = source.reads + after;
      await assert.rejects(tokensOf(model), (error) => isRocmforgeError(error, 'READ_FAILED'));
      source.failFrom = undefined;
      model.reset();
      assert.deepEqual(await tokensOf(model), expected);
    }
  });
}

test('layers that are streamed from pinned pages of the file give the same tokens', async (t) => {
  const path = join(temporaryFolder(t), 'model.gguf');
  writeFileSync(path, await tinyBytes('Q8_0'));
  const { model: whole } = await open({ load: 'lazy' });
  const weightMemory = Math.floor(0.9 * whole.fit.weights);
  await whole.dispose();
  const device = openReferenceDevice();
  const trace = new LoadTrace();
  const model = await LanguageModel.open(
    { gguf: await openGguf(path), device, architectures: ALL_ARCHITECTURES, sharesDevice: true },
    { weightMemory, hostMemory: new MemoryBudget('host', 2 ** 30), trace },
  );
  const layers = model.plan.weights.filter(({ names }) => names[0]?.startsWith('blk.'));
  const bytes = layers.flatMap(({ tensors }) => tensors.map(({ byteLength }) => byteLength));
  assert.equal(
    model.fit.pinned,
    bytes.reduce((sum, length) => sum + length),
  );
  const expected = await expectedTokens();
  let pages = 0;
  let fromPagesAlone = false;
  for (let pass = 0; pass < 100; pass++) {
    trace.clear();
    assert.deepEqual(await tokensOf(model), expected);
    const rows = (kind: string) => trace.spans.filter(({ row }) => row.startsWith(kind)).length;
    pages += rows('pages');
    if (rows('reader') > 0) continue;
    // Of three layers in two slots, one has a slot for itself.
    assert.equal(pages, (bytes.length * 2) / 3);
    assert.ok(rows('stream') >= GREEDY.maxTokens * pages);
    fromPagesAlone = true;
    break;
  }
  assert.ok(fromPagesAlone, `every pass read the file; ${pages} reads of pages`);
  await model.dispose();
  assert.equal(device.liveObjects(), 0);
  assert.equal(openMappings(path) ?? 0, 0);
  await device[Symbol.asyncDispose]();
});

test('where layers are streamed, a token is there before the next pass', async () => {
  const { model: whole } = await open({ load: 'lazy' });
  const weightMemory = Math.floor(0.9 * whole.fit.weights);
  await whole.dispose();
  const { source, model } = await open({ weightMemory, load: 'eager' });
  await using _ = model;
  const layers = model.plan.weights.reduce((sum, { tensors }) => {
    const names = tensors.filter(({ name }) => name.startsWith('blk.'));
    return sum + names.reduce((bytes, { byteLength }) => bytes + byteLength, 0);
  }, 0);
  const before = source.bytesRead;
  let pass: number | undefined;
  for await (const { token } of model.generate(PROMPT, GREEDY)) {
    if (token) pass ??= source.bytesRead - before;
  }
  assert.ok(pass !== undefined && pass >= layers, `${pass} of ${layers} bytes`);
  // Only what the slots hold of the next pass is on its way.
  assert.ok(pass <= layers + 2 * model.fit.placement.slotBytes, `${pass} of ${layers} bytes`);
});

for (const [name, openDevice] of [
  ['reference', async () => openReferenceDevice()],
  ['cpu', () => openCpu({ threads: 2 })],
] as const) {
  test(`weights in pools are the same bytes at other places: ${name}`, async () => {
    await using device = await openDevice();
    await checkPools(device);
    assert.equal(device.liveObjects(), 0);
  });
}

test('a context that may become smaller does so before layers are streamed', async () => {
  const { model: asked } = await open({ load: 'lazy', context: 4096 });
  const { total, cache, context } = asked.fit;
  await asked.dispose();
  assert.equal(context, 4096);
  const memory = total - Math.floor(cache / 2);
  const { model } = await open({ load: 'lazy', context: 4096, shrinkContext: true, memory });
  await using _ = model;
  assert.ok(model.context >= 1900 && model.context <= 2048, `${model.context} positions`);
  assert.equal(model.context, model.fit.context);
  assert.equal(model.fit.streamedParts, 0);
  assert.ok(model.fit.total <= memory);
  assert.deepEqual(await tokensOf(model), await expectedTokens());
  // Where it must not, and where it would not help.
  await assert.rejects(open({ context: 4096, memory }), (error) =>
    isRocmforgeError(error, 'MODEL_TOO_LARGE'),
  );
  const weightMemory = Math.floor(0.9 * model.fit.weights);
  const { model: streamed } = await open({ context: 4096, shrinkContext: true, weightMemory });
  assert.deepEqual([streamed.context, streamed.fit.streamedParts], [4096, TINY.layers]);
  await streamed.dispose();
});

test('what cannot be streamed either is refused with the numbers', async () => {
  await assert.rejects(open({ weightMemory: 1000 }), (error) => isRocmforgeError(error, 'MODEL_TOO_LARGE'));
  await assert.rejects(open({ memory: 100_000 }), (error) => isRocmforgeError(error, 'MODEL_TOO_LARGE'));
});

test('what a refusal names as needed suffices, and is what its parts add up to', async () => {
  const { model } = await open({ load: 'lazy', context: 64 });
  const whole = model.fit.total;
  await model.dispose();
  for (const memory of [Math.floor(whole / 10), Math.floor(whole / 3)]) {
    const refusal = await open({ load: 'lazy', context: 64, memory }).then(
      () => assert.fail('it does not fit'),
      (error: unknown) => error,
    );
    assert.ok(isRocmforgeError(refusal, 'MODEL_TOO_LARGE'));
    const { needed, free, ...parts } = refusal.params;
    const unit = needed.split(' ')[1];
    const numberOf = (text: string | undefined) => {
      assert.equal(text?.split(' ')[1], unit);
      return Number.parseFloat(text ?? '');
    };
    const sum = Object.values(parts).reduce((total, part) => total + numberOf(part), 0);
    assert.ok(Math.abs(sum - numberOf(needed)) < 1e-6, refusal.message);
    assert.ok(numberOf(free) < numberOf(needed), refusal.message);
    const { model: fitting } = await open({ load: 'lazy', context: 64, memory: byteSize(needed) });
    assert.ok(fitting.fit.total <= byteSize(needed));
    await fitting.dispose();
  }
});
