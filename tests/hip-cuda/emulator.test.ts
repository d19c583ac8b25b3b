import assert from 'node:assert/strict';
import { pointer } from '../../src/devices/hip-cuda/index.ts';
import { i32 } from '../../src/devices/hip-cuda/launching/launch.ts';
import { type Emulator, emulatedTests, STATUS, withDevice } from '../support/hip-cuda/emulator.ts';
import { at, bufferOf, type ProbeLaunch, Prober, readInto } from '../support/hip-cuda/probe.ts';

/** That the emulator is no more forgiving than a GPU: what is wrong fails, and says why. */
const emulated = await emulatedTests('gfx1100');

/** Runs a launch that loses the device, and gives the emulator's reason. */
async function faultOf(
  emulator: Emulator,
  launch: (device: Parameters<Parameters<typeof withDevice>[1]>[0]) => Promise<ProbeLaunch>,
): Promise<string> {
  const prober = new Prober();
  await withDevice(
    emulator,
    async (device) => {
      await assert.rejects(prober.run(device, [await launch(device)]), { code: 'DEVICE_LOST' });
    },
    { kernels: prober.kernels },
  );
  return emulator.why();
}

emulated('an index behind a buffer faults', async (emulator) => {
  const why = await faultOf(emulator, async (device) => {
    const buffer = await bufferOf(device, new Float32Array(64));
    return { kernel: 'copy_index', args: [at(buffer), at(buffer), i32(64)] };
  });
  assert.match(why, /kernel copy_index: an address outside every live device allocation/);
});

emulated('an index before a buffer faults', async (emulator) => {
  const why = await faultOf(emulator, async (device) => {
    const buffer = await bufferOf(device, new Float32Array(64));
    return { kernel: 'copy_index', args: [at(buffer), at(buffer), i32(-2000)] };
  });
  assert.match(why, /outside every live device allocation/);
});

emulated('released memory faults', async (emulator) => {
  const why = await faultOf(emulator, async (device) => {
    const buffer = await bufferOf(device, new Float32Array(64));
    const released = device.createBuffer(4096, 'released');
    const { address } = released;
    released[Symbol.dispose]();
    return { kernel: 'copy_index', args: [pointer(address), at(buffer), i32(0)] };
  });
  assert.match(why, /outside every live device allocation/);
});

emulated('a host pointer is refused', async (emulator) => {
  const why = await faultOf(emulator, async (device) => {
    const buffer = await bufferOf(device, new Float32Array(64));
    using host = emulator.platform.ffi.allocate(256);
    return { kernel: 'copy_index', args: [pointer(host.address), at(buffer), i32(0)] };
  });
  assert.match(why, /was given a pointer that is not the device's/);
});

emulated('lanes that wait for different things are a deadlock', async (emulator) => {
  const why = await faultOf(emulator, async (device) => {
    const buffer = await bufferOf(device, new Float32Array(64));
    return { kernel: 'diverge', args: [at(buffer)] };
  });
  assert.match(why, /wait at different barriers or shuffles/);
});

emulated('a missing barrier shows in the result', async (emulator) => {
  const prober = new Prober();
  const reversed = async (withBarrier: number): Promise<boolean> => {
    let right = false;
    await withDevice(
      emulator,
      async (device) => {
        const values = Float32Array.from({ length: 512 }, (_, i) => i);
        const buffer = await bufferOf(device, values);
        const launch = { kernel: 'reverse', threads: 256, blocks: 2, args: [at(buffer), i32(withBarrier)] };
        await prober.run(device, [launch]);
        const result = await readInto(device, buffer, new Float32Array(512));
        right = result.every((value, i) => value === (i < 256 ? 255 - i : 256 + 511 - i));
      },
      { kernels: prober.kernels },
    );
    return right;
  };
  assert.equal(await reversed(1), true);
  assert.equal(await reversed(0), false);
});

emulated('fresh memory is not a number', (emulator) =>
  withDevice(emulator, async (device) => {
    using buffer = device.createBuffer(1024, 'fresh');
    const values = await readInto(device, buffer, new Float32Array(256));
    assert.ok(values.every((value) => Number.isNaN(value)));
  }),
);

emulated('the null stream is refused', async (emulator) => {
  const { calls } = emulator.library;
  for (const stream of [0, 1, 2]) {
    assert.equal(calls.synchronizeStream(stream), STATUS.invalidHandle);
    assert.equal(calls.upload(0, 0, 0, stream), STATUS.invalidHandle);
  }
});

emulated('code for another GPU does not load', async (emulator) => {
  const code = await emulator.platform.compiler.compile({
    api: 'hip',
    name: 'other',
    source: 'extern "C" void nothing() {}',
    options: ['--offload-arch=gfx942'],
  });
  assert.ok(code.code);
  using image = emulator.platform.ffi.allocate(code.code.byteLength);
  image.bytes.set(code.code);
  assert.equal(emulator.library.calls.loadModule(image.address), 209);
});
