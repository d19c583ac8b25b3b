import assert from 'node:assert/strict';
import { isRocmforgeError } from '../../src/base/errors.ts';
import { wholeOf } from '../../src/device/index.ts';
import { HIP_CUDA_KERNELS } from '../../src/devices/hip-cuda/index.ts';
import { type Emulator, emulatedTests, STATUS } from '../support/hip-cuda/emulator.ts';
import { Polynomial } from '../support/hip-cuda/polynomial.ts';
import { openedDevice } from '../support/hip-cuda/opened-device.ts';

const emulated = await emulatedTests('gfx1100');

/** A whole life of a device: open, compile, allocate, record, run, read, close. */
async function life(emulator: Emulator): Promise<number[]> {
  await using device = emulator.device();
  using polynomial = await Polynomial.on(device);
  return await polynomial.compute([1, 2, 3]);
}

emulated('out of memory at every allocation: a typed error, and nothing stays behind', async (emulator) => {
  for (const call of ['hipMalloc', 'hipHostMalloc']) {
    emulator.control.reset();
    await life(emulator);
    const allocations = emulator.control.calls(call);
    assert.ok(allocations > 1, `${call} is called`);
    for (let nth = 1; nth <= allocations; nth++) {
      emulator.control.reset();
      emulator.control.failCall(call, nth, STATUS.outOfMemory);
      if (call === 'hipHostMalloc') assert.deepEqual(await life(emulator), [4, 16, 36]);
      else
        await assert.rejects(
          life(emulator),
          (error) => isOutOfMemory(error),
          `allocation ${nth} of ${allocations}`,
        );
      assert.deepEqual(emulator.live(), {}, `after allocation ${nth}`);
    }
  }
});

emulated(
  'every other call may fail: a typed error with its name, and nothing stays behind',
  async (emulator) => {
    const calls = [
      ['hipMemcpyAsync', 'upload'],
      ['hipStreamCreateWithFlags', 'create stream'],
      ['hipEventCreateWithFlags', 'create event'],
      ['hipEventRecord', 'record event'],
      ['hipModuleGetFunction', 'find kernel'],
      ['hipModuleLaunchKernel', 'launch'],
      ['hipStreamBeginCapture', 'begin capture'],
      ['hipStreamEndCapture', 'end capture'],
      ['hipGraphInstantiate', 'instantiate graph'],
      ['hipGraphLaunch', 'launch graph'],
    ] as const;
    for (const [call, named] of calls) {
      emulator.control.reset();
      await life(emulator);
      const last = emulator.control.calls(call);
      // How many events are created depends on how soon they are reached; the last one is recorded by a disposal.
      for (const nth of call.startsWith('hipEvent') ? [1] : new Set([1, last])) {
        emulator.control.reset();
        emulator.control.failCall(call, nth, STATUS.invalidHandle);
        await assert.rejects(
          life(emulator),
          (error) => isRocmforgeError(error) && (nth !== 1 || error.message.includes(named)),
          `${call} ${nth}`,
        );
        assert.deepEqual(emulator.live(), {}, `after ${call} ${nth}`);
      }
    }
    emulator.control.reset();
  },
);

emulated(
  'a kernel that faults loses the device: the reason comes from `lost` and every later wait',
  async (emulator) => {
    await using device = emulator.device();
    using polynomial = await Polynomial.on(device);
    emulator.control.failCall('kernel', 2, STATUS.illegalAddress);
    await assert.rejects(polynomial.compute([1, 2, 3]), { code: 'DEVICE_LOST' });
    const reason = await device.lost;
    assert.match(reason.message, /hip:0 was lost: .*700, hipErrorIllegalAddress/);
    assert.throws(() => device.createStream('never'), { code: 'DEVICE_LOST' });
  },
);

emulated(
  'a stream that is cut off by the loss of its device rejects and can be disposed',
  async (emulator) => {
    const device = emulator.device();
    const buffer = device.createBuffer(1024, 'buffer');
    const stream = device.createStream('stream');
    stream.upload(new Uint8Array(1024), wholeOf(buffer));
    emulator.control.lose(STATUS.launchFailure);
    await assert.rejects(stream.synchronize(), { code: 'DEVICE_LOST' });
    await assert.rejects(stream.download(wholeOf(buffer), new Uint8Array(4)), { code: 'DEVICE_LOST' });
    assert.match((await device.lost).message, /719/);
    await stream[Symbol.asyncDispose]();
    buffer[Symbol.dispose]();
    await device[Symbol.asyncDispose]();
    assert.deepEqual(emulator.live(), {});
    emulator.control.reset();
  },
);

emulated('out of memory says what was wanted and what was free', async (emulator) => {
  emulator.control.reset();
  await using device = emulator.device();
  emulator.control.setMemory(6 << 20);
  try {
    // The driver gives memory out in units of 2 MiB.
    using _ = device.createBuffer(3 << 20, 'first');
    assert.throws(() => device.createBuffer(3 << 20, 'second'), {
      code: 'OUT_OF_MEMORY',
      message: 'device hip:0: second needs 3145728 bytes, 2097152 are free',
    });
  } finally {
    emulator.control.setMemory(4 * 2 ** 30);
  }
});

emulated('a device that cannot be opened says why, and nothing stays behind', async (emulator) => {
  emulator.control.reset();
  emulator.control.failCall('hipMemcpyAsync', 2, STATUS.invalidHandle);
  assert.throws(() => emulator.device(), {
    code: 'DEVICE_UNAVAILABLE',
    message: /download returned status 400/,
  });
  assert.deepEqual(emulator.live(), {});
  const { library, platform } = emulator;
  const options = { library, platform, kernels: HIP_CUDA_KERNELS };
  assert.throws(() => openedDevice({ ...options, ordinal: 1 }), {
    code: 'DEVICE_UNAVAILABLE',
    message: /there are 1 devices/,
  });
});

emulated('objects of another device and disposed ones are refused', async (emulator) => {
  emulator.control.reset();
  await using device = emulator.device();
  await using other = emulator.device();
  using foreign = other.createBuffer(256, 'foreign');
  await using stream = device.createStream('stream');
  assert.throws(() => stream.upload(new Uint8Array(1), wholeOf(foreign)), { code: 'BINDING' });
  const step = await device.record([], 'empty');
  step[Symbol.dispose]();
  assert.throws(() => stream.run(step), { code: 'DISPOSED' });
  const polynomial = await Polynomial.on(device);
  polynomial[Symbol.dispose]();
  await assert.rejects(polynomial.compute([1, 2, 3]), { code: 'DISPOSED' });
});

function isOutOfMemory(error: unknown): boolean {
  if (!isRocmforgeError(error)) return false;
  return error.code === 'OUT_OF_MEMORY' || isOutOfMemory(error.cause);
}
