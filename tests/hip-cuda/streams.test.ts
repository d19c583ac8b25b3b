import assert from 'node:assert/strict';
import { silentLogger } from '../../src/base/log.ts';
import { wholeOf } from '../../src/device/index.ts';
import { Polynomial } from '../support/hip-cuda/polynomial.ts';
import { emulatedTests, STATUS, withDevice } from '../support/hip-cuda/emulator.ts';

const emulated = await emulatedTests('gfx1100');

emulated('opening says what the GPU is', (emulator) =>
  withDevice(emulator, async ({ info, target }) => {
    assert.equal(info.backend, 'hip');
    assert.equal(info.name, 'Emulated gfx1100');
    assert.equal(info.details.target, 'gfx1100');
    assert.equal(info.details.driver, '7.0.51831');
    assert.equal(target.waveSize, 32);
  }),
);

emulated('two streams wait for each other, and only for what they asked', (emulator) =>
  withDevice(emulator, async (device) => {
    using shared = device.createBuffer(1 << 20, 'shared');
    using result = device.createBuffer(1 << 20, 'result');
    await using first = device.createStream('first');
    await using second = device.createStream('second');
    const read = new Uint8Array(1 << 20);
    for (let round = 1; round <= 20; round++) {
      first.upload(new Uint8Array(1 << 20).fill(round), wholeOf(shared));
      second.wait(first.record());
      second.copy(wholeOf(shared), wholeOf(result));
      first.wait(second.record());
    }
    await second.download(wholeOf(result), read);
    assert.ok(read.every((byte) => byte === 20));
  }),
);

emulated('time passes forward between the events of several streams', (emulator) =>
  withDevice(emulator, async (device) => {
    using buffer = device.createBuffer(1 << 20, 'buffer');
    await using first = device.createStream('first');
    await using second = device.createStream('second');
    const start = first.record();
    first.upload(new Uint8Array(1 << 20), wholeOf(buffer));
    const middle = first.record();
    second.wait(middle);
    second.copy({ buffer, offset: 0, byteLength: 1 << 19 }, { buffer, offset: 1 << 19, byteLength: 1 << 19 });
    const end = second.record();
    await end.completed();
    assert.ok(middle.elapsedSince(start) > 0);
    assert.ok(end.elapsedSince(middle) > 0);
    const sum = middle.elapsedSince(start) + end.elapsedSince(middle);
    assert.ok(Math.abs(end.elapsedSince(start) - sum) < 1e-3);
    assert.equal(start.handle, undefined, 'an event that was seen holds nothing');
  }),
);

emulated('an event that has not completed has no time', (emulator) =>
  withDevice(emulator, async (device) => {
    using large = device.createBuffer(64 << 20, 'large');
    await using stream = device.createStream('stream');
    const start = stream.record();
    stream.upload(new Uint8Array(64 << 20), wholeOf(large));
    const end = stream.record();
    assert.throws(() => end.elapsedSince(start), { code: 'INVALID_ARGUMENT' });
    await end.completed();
  }),
);

emulated('1 000 objects of each kind come and go without a trace', (emulator) =>
  withDevice(emulator, async (device) => {
    const cycle = async () => {
      using buffer = device.createBuffer(256, 'cycle');
      using pinned = device.createPinned(256, 'cycle');
      await using stream = device.createStream('cycle');
      stream.upload(pinned.bytes, wholeOf(buffer));
      stream.upload(new Uint8Array(3), wholeOf(buffer));
      using step = await device.record([], 'cycle');
      stream.run(step);
      using event = stream.record();
      await event.completed();
    };
    for (let i = 0; i < 10; i++) await cycle();
    const before = emulator.live();
    for (let i = 0; i < 1000; i++) await cycle();
    assert.equal(device.liveObjects(), 0);
    assert.deepEqual(emulator.live(), before);
  }),
);

emulated(
  'events outlive their device: it has waited for them, and the driver is not asked',
  async (emulator) => {
    const device = emulator.device();
    const event = device.createStream('short').record();
    const timed = device.createStream('timed').record();
    await timed.completed();
    await device[Symbol.asyncDispose]();
    assert.equal(event.query(), true);
    await event.completed();
    await withDevice(emulator, async (next) => {
      await using stream = next.createStream('next');
      stream.wait(event);
      const later = stream.record();
      await later.completed();
      assert.throws(() => later.elapsedSince(timed), { code: 'INVALID_ARGUMENT' });
    });
  },
);

emulated('events that nobody asks are used again once they are garbage or disposed', (emulator) =>
  withDevice(emulator, async (device) => {
    await using stream = device.createStream('events');
    for (let i = 0; i < 100; i++) {
      using _ = stream.record();
    }
    assert.ok((emulator.live().events ?? 0) < 5, `${emulator.live().events} events`);
  }),
);

emulated(
  'memory of its own: a range of a shared memory is pinned and copied from without a detour',
  (emulator) =>
    withDevice(emulator, async (device) => {
      const shared = new Uint8Array(new SharedArrayBuffer(8192)).fill(7);
      using pinned = device.pin(shared.subarray(0, 4096), 'shared');
      using buffer = device.createBuffer(1024, 'buffer');
      await using stream = device.createStream('stream');
      const copies = emulator.control.calls('hipHostMalloc');
      stream.upload(pinned.bytes.subarray(1000, 2024), wholeOf(buffer));
      await stream.synchronize();
      assert.equal(emulator.control.calls('hipHostMalloc'), copies, 'no staging was allocated');
      const back = new Uint8Array(1024);
      await stream.download(wholeOf(buffer), back);
      assert.ok(back.every((byte) => byte === 7));
    }),
);

emulated('when pinning fails, pageable memory serves, and the log says so', async (emulator) => {
  const warnings: string[] = [];
  const logger = {
    enabled: () => false,
    warn: (message: string) => void warnings.push(message),
    info: () => {},
    debug: () => {},
    trace: () => {},
  };
  const device = emulator.device({ logger });
  emulator.control.failCall('hipHostMalloc', 1, STATUS.outOfMemory);
  const pinned = device.createPinned(512, 'ring');
  assert.equal(pinned.pinned, false);
  assert.deepEqual(warnings, ['memory could not be pinned: copies from and to it are slower']);
  using buffer = device.createBuffer(512, 'buffer');
  const stream = device.createStream('stream');
  pinned.bytes.fill(9);
  stream.upload(pinned.bytes, wholeOf(buffer));
  await stream.synchronize();
  pinned.bytes.fill(0);
  await stream.download(wholeOf(buffer), pinned.bytes);
  assert.equal(pinned.bytes[511], 9);
  pinned[Symbol.dispose]();
  await device[Symbol.asyncDispose]();
  assert.deepEqual(emulator.live(), {});
});

emulated(
  'a driver that reads no range of a buffer is read through a copy, and the log says so once',
  async (emulator) => {
    const warnings: string[] = [];
    const logger = { ...silentLogger, warn: (message: string) => void warnings.push(message) };
    await withDevice(
      emulator,
      async (device) => {
        emulator.control.refuseInnerReads();
        using buffer = device.createBuffer(1 << 20, 'buffer');
        using pinned = device.createPinned(4096, 'pinned');
        await using stream = device.createStream('stream');
        stream.upload(
          Uint8Array.from({ length: 1 << 20 }, (_, i) => (i >> 8) & 0xff),
          wholeOf(buffer),
        );
        const wanted = new Uint8Array(2048);
        await stream.download({ buffer, offset: 0x4000, byteLength: 2048 }, wanted);
        await stream.download({ buffer, offset: 0x9000, byteLength: 4096 }, pinned.bytes);
        assert.deepEqual([wanted[0], wanted[2047]], [0x40, 0x47]);
        assert.deepEqual([pinned.bytes[0], pinned.bytes[4095]], [0x90, 0x9f]);
      },
      { logger },
    );
    assert.deepEqual(warnings, [
      'the driver does not read from within an allocation: reads take a copy on the device',
    ]);
  },
);

emulated('--log trace names every copy, launch, event and wait', async (emulator) => {
  const traced: string[] = [];
  const logger = {
    enabled: () => true,
    warn: () => {},
    info: () => {},
    debug: () => {},
    trace: (message: string) => void traced.push(message),
  };
  const device = emulator.device({ logger });
  {
    using buffer = device.createBuffer(512, 'buffer');
    await using stream = device.createStream('stream');
    await using other = device.createStream('other');
    traced.length = 0;
    stream.upload(new Uint8Array(512), wholeOf(buffer));
    other.wait(stream.record());
    await other.download(wholeOf(buffer), new Uint8Array(512));
    using polynomial = await Polynomial.on(device);
    await polynomial.compute([1, 2, 3]);
  }
  await device[Symbol.asyncDispose]();
  for (const call of ['upload', 'record event', 'wait for event', 'download', 'launch', 'launch graph']) {
    assert.ok(traced.includes(`hip:0 ${call}`), `${call} is traced: ${traced.join(', ')}`);
  }
});

emulated(
  'a kernel copies few words between the device and pinned memory, and nothing else',
  async (emulator) => {
    const calls: string[] = [];
    const logger = {
      ...silentLogger,
      enabled: () => true,
      trace: (message: string) => void calls.push(message.replace('hip:0 ', '')),
    };
    const device = emulator.device({ logger });
    {
      using polynomial = await Polynomial.on(device);
      await polynomial.compute([1, 2, 3]);
      using buffer = device.createBuffer(64 << 10, 'buffer');
      using pinned = device.createPinned(64 << 10, 'pinned');
      using foreign = device.pin(new Uint8Array(new ArrayBuffer(4096)), 'foreign');
      await using stream = device.createStream('stream');
      const copied = async (source: Uint8Array, bytes: number, offset = 0) => {
        for (let i = 0; i < bytes; i++) source[i] = (7 * i + bytes + offset) & 255;
        const expected = source.slice(0, bytes);
        const place = { buffer, offset, byteLength: bytes };
        calls.length = 0;
        stream.upload(source.subarray(0, bytes), place);
        const read = new Uint8Array(bytes);
        await stream.download(place, read);
        assert.deepEqual(read, expected, `${bytes} bytes at ${offset}`);
        return calls.filter((call) => ['upload', 'download', 'launch'].includes(call));
      };
      const byKernel = ['launch', 'launch'];
      const byDriver = ['upload', 'download'];
      assert.deepEqual(await copied(pinned.bytes, 4), byKernel);
      assert.deepEqual(await copied(pinned.bytes, 1028, 256), byKernel);
      assert.deepEqual(await copied(pinned.bytes, 16 << 10), byKernel);
      assert.deepEqual(await copied(new Uint8Array(64), 64), byKernel, 'what is staged is pinned');
      assert.deepEqual(await copied(pinned.bytes, 3), byDriver);
      assert.deepEqual(await copied(pinned.bytes, (16 << 10) + 4), byDriver);
      assert.deepEqual(await copied(pinned.bytes.subarray(2), 8), ['upload', 'launch']);
      assert.deepEqual(
        await copied(foreign.bytes, 64),
        ['upload', 'launch'],
        'only its owner knows what it is',
      );
    }
    assert.equal(device.liveObjects(), 0);
    await device[Symbol.asyncDispose]();
  },
);
