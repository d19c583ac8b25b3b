import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';
import {
  describeHipCudaDevice,
  HIP_CUDA_KERNELS,
  type HipCudaDevice,
} from '../../src/devices/hip-cuda/index.ts';
import { LanguageModel } from '../../src/engine/language-model.ts';
import { ALL_ARCHITECTURES as architectures } from '../../src/model/architectures/index.ts';
import { openHipCuda, openHipCudas } from '../../src/node/open-hip-cuda.ts';
import { type Emulator, emulatedTests, STATUS } from '../support/hip-cuda/emulator.ts';
import { Polynomial } from '../support/hip-cuda/polynomial.ts';
import { tinyModel } from '../support/tiny-model.ts';

const emulated = await emulatedTests('gfx1100');

function described({ library, platform }: Emulator): HipCudaDevice {
  return describeHipCudaDevice({
    library,
    ordinal: 0,
    platform,
    kernels: HIP_CUDA_KERNELS,
    blasLibraries: [],
  });
}

emulated('programs are compiled before a device is opened, and loaded onto it then', async (emulator) => {
  const { control } = emulator;
  control.reset();
  await using device = described(emulator);
  let isCompiled = false;
  const compiling = Polynomial.on(device).finally(() => {
    isCompiled = true;
  });
  // As long as all its kernels take from the cache.
  await new Promise((resolve) => setTimeout(resolve, 300));
  assert.equal(isCompiled, false);
  for (const call of ['hipSetDevice', 'hipMalloc', 'hipModuleLoadData']) assert.equal(control.calls(call), 0);
  device.open();
  using polynomial = await compiling;
  assert.deepEqual(await polynomial.compute([1, 2, 3]), [4, 16, 36]);
});

emulated('a device that does not open fails what waits for it', async (emulator) => {
  const { control } = emulator;
  for (const call of ['hipSetDevice', 'hipMalloc', 'hipMemcpyAsync']) {
    control.reset();
    const device = described(emulator);
    const compiling = Polynomial.on(device);
    compiling.catch(() => {});
    control.failCall(call, 1, STATUS.invalidHandle);
    assert.throws(() => device.open(), { code: 'DEVICE_UNAVAILABLE' });
    await assert.rejects(compiling, { code: 'DEVICE_UNAVAILABLE' }, call);
    await device[Symbol.asyncDispose]();
    assert.deepEqual(emulator.live(), {}, call);
  }
});

emulated('a device that is disposed before it was opened fails what waits for it', async (emulator) => {
  emulator.control.reset();
  const device = described(emulator);
  const compiling = Polynomial.on(device);
  compiling.catch(() => {});
  await device[Symbol.asyncDispose]();
  await assert.rejects(compiling, { code: 'DISPOSED' });
  assert.throws(() => device.open(), { code: 'DISPOSED' });
  assert.deepEqual(emulator.live(), {});
});

emulated('is handed out while it is readied, once everything is known of it', async (emulator) => {
  const { library, compilers, control } = emulator;
  control.reset();
  const places = { driver: [library.file], compiler: compilers.hip };
  let seen: HipCudaDevice | undefined;
  const onDescribed = (device: HipCudaDevice) => {
    seen = device;
    assert.equal(device.info.name, 'Emulated gfx1100');
    assert.equal(control.calls('hipMalloc'), 0);
  };
  const device = await openHipCuda({ driver: 'hip', index: 0, places, onDescribed });
  assert.equal(device, seen);
  await device[Symbol.asyncDispose]();
  control.failCall('hipMalloc', 1, STATUS.outOfMemory);
  const failing = openHipCuda({ driver: 'hip', index: 0, places, onDescribed: () => {} });
  await assert.rejects(failing, { code: 'DEVICE_UNAVAILABLE' });
  assert.deepEqual(emulator.live(), {});
});

emulated('several are opened together: all, or none', async (emulator) => {
  const { library, compilers, control } = emulator;
  control.reset();
  const of = { driver: 'hip', places: { driver: [library.file], compiler: compilers.hip } } as const;
  let seen: readonly HipCudaDevice[] = [];
  const onDescribed = (devices: readonly HipCudaDevice[]) => {
    seen = devices;
    assert.equal(control.calls('hipMalloc'), 0);
  };
  const devices = await openHipCudas({ ...of, indices: [0, 0], onDescribed });
  assert.deepEqual(devices, seen);
  const [first, second] = devices as readonly [HipCudaDevice, HipCudaDevice];
  await first[Symbol.asyncDispose]();
  {
    // What they share lasts as long as any of them.
    using polynomial = await Polynomial.on(second);
    assert.deepEqual(await polynomial.compute([1, 2, 3]), [4, 16, 36]);
  }
  await second[Symbol.asyncDispose]();
  assert.deepEqual(emulator.live(), {});
  control.reset();
  control.failCall('hipMalloc', 2, STATUS.outOfMemory);
  for (const indices of [
    [0, 0],
    [0, 7],
  ]) {
    await assert.rejects(openHipCudas({ ...of, indices }), { code: 'DEVICE_UNAVAILABLE' });
    assert.deepEqual(emulator.live(), {});
  }
});

emulated('a model that was compiled before its device opened is not compiled again', async (emulator) => {
  emulator.control.reset();
  const options = { context: 32, batch: 4 };
  const device = described(emulator);
  const compile = device.compile.bind(device);
  let compilations = 0;
  device.compile = (graph) => {
    compilations++;
    return compile(graph);
  };
  const parts = { gguf: await tinyModel('Q4_0'), device, architectures };
  const compiled = LanguageModel.compile(parts, options);
  // It waits for nothing but what it looks up in the setup: promises that are kept already.
  await setImmediate();
  assert.ok(compilations > 0);
  const before = compilations;
  device.open();
  await using early = await LanguageModel.open({ ...parts, compiled }, options);
  assert.equal(compilations, before);
  const usual = { gguf: await tinyModel('Q4_0'), device: emulator.device(), architectures };
  await using late = await LanguageModel.open(usual, options);
  assert.deepEqual(await tokensOf(early), await tokensOf(late));
});

async function tokensOf(model: LanguageModel): Promise<number[]> {
  const ids: number[] = [];
  const stream = model.generate([1, 40, 41], { temperature: 0, maxTokens: 3, ignoreEnd: true });
  for await (const { token } of stream) if (token) ids.push(token.id);
  return ids;
}
