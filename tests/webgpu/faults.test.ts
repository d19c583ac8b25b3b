import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type DeviceBuffer, wholeOf } from '../../src/device/index.ts';
import { openWebGpuDevice } from '../../src/devices/webgpu/index.ts';
import { GpuFaults } from '../../src/devices/webgpu/gpu-faults.ts';
import { ReadbackPool } from '../../src/devices/webgpu/memory/readback-pool.ts';
import { NO_SOFTWARE_GPU, openSoftwareGpu } from '../support/software-gpu.ts';
import { watchedGpu } from '../support/watched-gpu.ts';

/** More than software has room for, in one piece or a few. */
const LARGE_BYTES = 2 ** 30;
const MAX_PIECES = 64;

describe('faults of a WebGPU device', { skip: NO_SOFTWARE_GPU }, () => {
  test('a buffer without room fails what uses it at once, what uses it later, and nothing else', async () => {
    await using device = await openSoftwareGpu();
    const buffers: DeviceBuffer[] = [];
    const use = async (buffer: DeviceBuffer) => {
      await using stream = device.createStream('use');
      stream.upload(Uint8Array.of(1, 2, 3, 4), wholeOf(buffer));
      await stream.synchronize();
    };
    const filling = (async () => {
      while (buffers.length < MAX_PIECES) {
        const buffer = device.createBuffer(LARGE_BYTES, `piece ${buffers.length}`);
        buffers.push(buffer);
        await use(buffer);
      }
    })();
    await assert.rejects(filling, {
      code: 'OUT_OF_MEMORY',
      message: /webgpu: piece \d+ needs 1073741824 bytes/,
    });
    const [failed] = buffers.slice(-1) as [DeviceBuffer];
    await using stream = device.createStream('later');
    assert.throws(() => stream.upload(new Uint8Array(4), wholeOf(failed)), { code: 'OUT_OF_MEMORY' });
    for (const buffer of buffers) buffer[Symbol.dispose]();
    using small = device.createBuffer(256, 'small');
    await use(small);
    const bytes = new Uint8Array(4);
    await stream.download(wholeOf(small), bytes);
    assert.deepEqual([...bytes], [1, 2, 3, 4]);
    assert.equal(device.fault, undefined);
  });

  test('memory for results that is not there is a typed error, too', async () => {
    const { gpu, device } = await watchedGpu();
    await using _ = await openWebGpuDevice({ gpu });
    const pool = new ReadbackPool(new GpuFaults(device(), 'webgpu'));
    const readbacks = Array.from({ length: MAX_PIECES }, () => pool.take(LARGE_BYTES));
    const [last] = readbacks.slice(-1) as [(typeof readbacks)[number]];
    await assert.rejects(pool.read(last, new Uint8Array(4)), { code: 'OUT_OF_MEMORY' });
    for (const { buffer } of readbacks) buffer.destroy();
  });

  test('memory that cannot be mapped is a typed error, and what is mapped after it serves', async () => {
    const { gpu, device: raw } = await watchedGpu();
    await using device = await openWebGpuDevice({ gpu });
    const live = device.liveObjects();
    const pin = (bytes: number) => device.createPinned(bytes, 'slot', 'weights');
    assert.throws(() => pin(raw().limits.maxBufferSize), { code: 'OUT_OF_MEMORY' });
    const { createBuffer } = raw();
    const refuse = () => {
      throw new RangeError('no memory to map');
    };
    Object.defineProperty(raw(), 'createBuffer', { value: refuse, configurable: true });
    assert.throws(() => pin(256), { code: 'OUT_OF_MEMORY' });
    Object.defineProperty(raw(), 'createBuffer', { value: createBuffer });
    assert.equal(device.liveObjects(), live);
    using target = device.createBuffer(256, 'target');
    using pinned = pin(256);
    pinned.bytes.fill(7);
    await using stream = device.createStream('mapped');
    stream.upload(pinned.bytes, wholeOf(target));
    const bytes = new Uint8Array(256);
    await stream.download(wholeOf(target), bytes);
    assert.ok(bytes.every((byte) => byte === 7));
  });

  test('a command that the implementation refuses fails the next wait, and is told', async () => {
    const { gpu, device: raw } = await watchedGpu();
    await using device = await openWebGpuDevice({ gpu });
    await using stream = device.createStream('refused');
    await stream.synchronize();
    raw().createBuffer({ size: 16, usage: 0x0001 | 0x0080 });
    await stream.synchronize().catch(() => {});
    await assert.rejects(stream.synchronize(), { code: 'GPU_REFUSED' });
    assert.match(String(device.fault), /refused a command/);
  });
});
