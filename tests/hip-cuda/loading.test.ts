import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { isRocmforgeError } from '../../src/base/errors.ts';
import { MemoryBudget } from '../../src/device/index.ts';
import { LanguageModel, type ModelOptions } from '../../src/engine/language-model.ts';
import { DevicePipeline } from '../../src/devices/group/index.ts';
import { LOAD_MODES } from '../../src/runtime/opening/load-mode.ts';
import { BF16, F64, IQ2_XS, NVFP4, Q4_0, Q6_K } from '../../src/formats/index.ts';
import { GgufFile } from '../../src/gguf/index.ts';
import { SharedDeviceMemory } from '../../src/load/shared-device-memory.ts';
import { GgufLoader } from '../../src/load/gguf-loader.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { checkFailedCreations } from '../support/failed-creations.ts';
import { checkCycles } from '../support/load-cycles.ts';
import { checkLoadFaults } from '../support/load-faults.ts';
import { checkPools } from '../support/load-pools.ts';
import { openGguf } from '../../src/node/open-gguf.ts';
import { openCpu, openDecoder } from '../../src/node/open-cpu.ts';
import { LoadTrace } from '../../src/load/load-trace.ts';
import { decodesAsTheHost } from '../support/hip-cuda/device-decoding.ts';
import { type Emulator, emulatedTests, STATUS, withDevice } from '../support/hip-cuda/emulator.ts';
import { pinsFiles } from '../support/hip-cuda/hardware-tests.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { tinyBytes, tinyModel } from '../support/tiny-model.ts';
import { WatchedSource } from '../support/watched-source.ts';

const emulated = await emulatedTests('gfx1100');
const bytes = await tinyBytes('Q8_0');

async function tokensOf(model: LanguageModel): Promise<number[]> {
  const ids: number[] = [];
  const stream = model.generate([1, 40, 41], { temperature: 0, maxTokens: 5, ignoreEnd: true });
  for await (const { token } of stream) if (token) ids.push(token.id);
  return ids;
}

/** A model on a device of its own, which ends with it. */
async function on<T>(
  emulator: Emulator,
  options: ModelOptions,
  use: (model: LanguageModel, source: WatchedSource) => Promise<T>,
): Promise<T> {
  const source = new WatchedSource(bytes);
  const parts = {
    gguf: await GgufFile.open(source),
    device: emulator.device(),
    architectures: ALL_ARCHITECTURES,
  };
  await using model = await LanguageModel.open(parts, { context: 32, batch: 2, ...options });
  return await use(model, source);
}

emulated('every load mode gives the same tokens', async (emulator) => {
  const expected = await on(emulator, { load: 'eager' }, tokensOf);
  for (const load of LOAD_MODES) assert.deepEqual(await on(emulator, { load }, tokensOf), expected, load);
  assert.deepEqual(emulator.live(), {});
});

emulated('streamed layers give the same tokens, also after a pass that broke off', async (emulator) => {
  const { expected, weights } = await on(emulator, { load: 'eager' }, async (model) => ({
    expected: await tokensOf(model),
    weights: model.fit.placement.weightBytes,
  }));
  await on(emulator, { weightMemory: Math.floor(0.9 * weights) }, async (model, source) => {
    assert.ok(model.fit.streamedParts > 0);
    assert.deepEqual(await tokensOf(model), expected);
    for (const after of [2, 11]) {
      source.failFrom = source.reads + after;
      await assert.rejects(tokensOf(model), (error) => isRocmforgeError(error, 'READ_FAILED'));
      source.failFrom = undefined;
      model.reset();
      assert.deepEqual(await tokensOf(model), expected);
    }
  });
  assert.deepEqual(emulator.live(), {});
});

/** A model whose layers are streamed from pinned pages; `onPin` is called behind the first that are pinned. */
async function onPages<T>(
  t: TestContext,
  emulator: Emulator,
  { onPin = () => {}, use }: { onPin?: () => void; use: (model: LanguageModel) => Promise<T> },
): Promise<{ result: T; pinned: number }> {
  const path = join(temporaryFolder(t), 'model.gguf');
  writeFileSync(path, bytes);
  const weights = await on(emulator, { load: 'lazy' }, async ({ fit }) => fit.placement.weightBytes);
  const trace = new LoadTrace();
  const { add } = trace;
  let pinned = 0;
  trace.add = (span) => {
    add.call(trace, span);
    if (span.row === 'pages' && ++pinned === 1) onPin();
  };
  const gguf = await openGguf(path);
  const parts = { gguf, device: emulator.device({ pinsReadOnly: true }), architectures: ALL_ARCHITECTURES };
  const limits = { weightMemory: Math.floor(0.9 * weights), hostMemory: new MemoryBudget('host', 2 ** 30) };
  await using model = await LanguageModel.open(parts, { context: 32, batch: 2, ...limits, trace });
  return { result: await use(model), pinned };
}

emulated(
  'layers are streamed from pinned pages of the file, as far as the driver pins',
  async (emulator, t) => {
    const expected = await on(emulator, { load: 'eager' }, tokensOf);
    const use = async (model: LanguageModel) => {
      for (let i = 0; i < 6; i++) assert.deepEqual(await tokensOf(model), expected);
    };
    const all = await onPages(t, emulator, { use });
    const onPin = () => {
      for (let nth = 1; nth <= 20; nth++)
        emulator.control.failCall('hipHostRegister', nth, STATUS.outOfMemory);
    };
    const some = await onPages(t, emulator, { onPin, use });
    assert.ok(some.pinned > 0 && some.pinned < all.pinned, `${some.pinned} of ${all.pinned}`);
    assert.deepEqual(emulator.live(), {});
  },
);

emulated('a device that is lost while pages are pinned: a typed error, all released', async (emulator, t) => {
  const onPin = () => emulator.control.lose(STATUS.illegalAddress);
  const use = async (model: LanguageModel) => {
    for (;;) await tokensOf(model);
  };
  await assert.rejects(onPages(t, emulator, { onPin, use }), (error) =>
    isRocmforgeError(error, 'DEVICE_LOST'),
  );
  assert.deepEqual(emulator.live(), {});
});

emulated('pages of a file are pinned where the driver says so', (emulator) =>
  withDevice(emulator, pinsFiles, { pinsReadOnly: true }),
);

emulated('where shared memory cannot be pinned, the device pins its own', async (emulator) => {
  const expected = await on(emulator, {}, tokensOf);
  assert.ok(emulator.control.calls('hipHostRegister') > 0);
  emulator.control.reset();
  for (let nth = 1; nth <= 3; nth++) emulator.control.failCall('hipHostRegister', nth, STATUS.outOfMemory);
  assert.deepEqual(await on(emulator, {}, tokensOf), expected);
  assert.deepEqual(emulator.live(), {});
});

emulated('tensors by name arrive as the synchronous loader brings them', (emulator) =>
  withDevice(emulator, async (device) => {
    await using gguf = await tinyModel('Q4_0');
    await using decoder = await openDecoder({ threads: 3 });
    for (const weights of ['blocks', 'f16', 'f32'] as const) {
      await using baseline = new GgufLoader(gguf, device, { weights });
      const expected = await baseline.loadToGpu();
      const sizes = { streams: 5, slots: 7, slotBytes: 5000 };
      await using loader = new GgufLoader(gguf, device, { weights, decoder, ...sizes });
      for (const [name, tensor] of await loader.loadToGpuAsync()) {
        assert.deepEqual(await tensor.toHostBytes(), await expected.get(name)?.toHostBytes(), name);
      }
    }
  }),
);

emulated('models come and go on one device without growth', (emulator) =>
  withDevice(emulator, (device) =>
    checkCycles({
      device,
      loads: 2,
      files: 1,
      rounds: 1,
      driverObjects: () => emulator.live(),
    }),
  ),
);

emulated('whatever goes wrong with the file, nothing stays behind and a second load works', (emulator, t) =>
  withDevice(emulator, (device) => checkLoadFaults(t, device)),
);

emulated('whatever cannot be created, nothing stays behind and a second load works', (emulator) =>
  withDevice(emulator, (device) => checkFailedCreations(device, { load: 'eager', step: 1 })),
);

emulated('a device that is lost while weights are loaded: a typed error, all released', async (emulator) => {
  for (const load of ['eager', 'background'] as const) {
    const device = emulator.device();
    const source = new WatchedSource(bytes);
    const gguf = await GgufFile.open(source);
    const { reads } = source;
    source.onRead = () => {
      if (source.reads === reads + 10) emulator.control.lose(STATUS.illegalAddress);
    };
    const opening = LanguageModel.open(
      { gguf, device, architectures: ALL_ARCHITECTURES },
      { load, batch: 2 },
    );
    const life = opening.then(async (model) => {
      await using _ = model;
      await tokensOf(model);
    });
    await assert.rejects(life, (error) => isRocmforgeError(error, 'DEVICE_LOST'));
    await device[Symbol.asyncDispose]();
    assert.deepEqual(emulator.live(), {});
    emulator.control.reset();
  }
  assert.ok((await on(emulator, {}, tokensOf)).length > 0);
});

emulated('weights in pools are the same bytes at other places', (emulator) =>
  withDevice(emulator, checkPools),
);

emulated('two models in memory for one and a half say what each says alone', async (emulator) => {
  const alone = await on(emulator, {}, async (model) => ({ fit: model.fit, ids: await tokensOf(model) }));
  await withDevice(emulator, async (device) => {
    const { fit } = alone;
    const memory = 2 * (fit.onDevice - fit.weights) + Math.ceil(1.5 * fit.weights);
    const sharedMemory = await SharedDeviceMemory.open(device, { memory });
    const open = async () => {
      const gguf = await GgufFile.open(new WatchedSource(bytes));
      const parts = { gguf, device, sharedMemory, architectures: ALL_ARCHITECTURES };
      return LanguageModel.open(parts, { context: 32, batch: 2 });
    };
    await using first = await open();
    await using second = await open();
    for (const model of [first, second, first]) {
      model.reset();
      assert.deepEqual(await tokensOf(model), alone.ids);
    }
    assert.ok([...first.plan.weights, ...second.plan.weights].some(({ state }) => state === 'evicted'));
  });
});

emulated('rows of other formats are decoded on the device as on the host', (emulator) =>
  withDevice(emulator, (device) => decodesAsTheHost(device, [BF16, F64, IQ2_XS, NVFP4, Q4_0, Q6_K])),
);

emulated(
  'weights decoded on the device give the same tokens, and fewer bytes are moved',
  async (emulator) => {
    const run = async (options: ModelOptions) => {
      const trace = new LoadTrace();
      const tokens = await on(emulator, { weights: 'f32', load: 'eager', trace, ...options }, tokensOf);
      const rows = trace.spans.filter(({ row }) => row.startsWith('stream'));
      return { tokens, rows: trace.rows, bytes: rows.reduce((sum, span) => sum + span.bytes, 0) };
    };
    const host = await run({ decode: 'host' });
    const device = await run({});
    assert.deepEqual(device.tokens, host.tokens);
    assert.ok(host.rows.includes('decoder 0') && !host.rows.includes('repack 0'));
    assert.ok(!device.rows.includes('decoder 0') && device.rows.includes('repack 0'));
    assert.ok(device.bytes < host.bytes / 2);
  },
);

emulated('loading onto a stage of a pipeline can be traced', async (emulator) => {
  const load = async (trace?: LoadTrace) => {
    const device = new DevicePipeline([await openCpu({ threads: 1 }), emulator.device()]);
    const parts = { gguf: await tinyModel('Q8_0'), device, architectures: ALL_ARCHITECTURES };
    const options = { context: 32, batch: 2, gpuLayers: 2, weights: 'f32', load: 'eager', trace } as const;
    await using model = await LanguageModel.open(parts, options);
    return await tokensOf(model);
  };
  const trace = new LoadTrace();
  assert.deepEqual(await load(trace), await load());
  assert.ok(trace.rows.includes('stream 0'));
});
