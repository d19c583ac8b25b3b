import assert from 'node:assert/strict';
import type { BufferRange, Device } from '../../../src/device/index.ts';
import { wholeOf } from '../../../src/device/index.ts';
import { type ContractContext, contractTest } from './contract-context.ts';

/** Bytes that depend on their position. */
export function pattern(byteLength: number, seed = 0): Uint8Array {
  return Uint8Array.from({ length: byteLength }, (_, i) => (i * 7 + (i >> 8) + seed) & 0xff);
}

/** Downloads a range on a separate stream. */
export async function contentsOf(device: Device, range: BufferRange): Promise<Uint8Array> {
  await using stream = device.createStream('contents');
  const bytes = new Uint8Array(range.byteLength);
  await stream.download(range, bytes);
  return bytes;
}

/** Buffers: contents, ranges, lifetimes. */
export function testMemory(context: ContractContext): void {
  testContents(context);
  testRanges(context);
  testLifetimes(context);
}

function testContents(context: ContractContext): void {
  contractTest(context, 'memory contents: what is uploaded comes back, at any aligned offset', async () => {
    const device = context.device();
    using buffer = device.createBuffer(4096, 'memory');
    await using stream = device.createStream('memory');
    stream.upload(pattern(4096), wholeOf(buffer));
    stream.upload(pattern(300, 99), { buffer, offset: 1024, byteLength: 512 });
    const expected = pattern(4096);
    expected.set(pattern(300, 99), 1024);
    await stream.synchronize();
    assert.deepEqual(await contentsOf(device, wholeOf(buffer)), expected);
  });

  contractTest(context, 'memory contents: a download may ask for the start of a range', async () => {
    const device = context.device();
    using buffer = device.createBuffer(1024, 'memory');
    await using stream = device.createStream('memory');
    stream.upload(pattern(1024), wholeOf(buffer));
    const start = new Uint8Array(20);
    await stream.download({ buffer, offset: 256, byteLength: 768 }, start);
    assert.deepEqual(start, pattern(1024).slice(256, 276));
  });

  contractTest(context, 'memory contents: copies between buffers and within one', async () => {
    const device = context.device();
    using from = device.createBuffer(2048, 'from');
    using to = device.createBuffer(1024, 'to');
    await using stream = device.createStream('memory');
    stream.upload(pattern(2048), wholeOf(from));
    stream.upload(pattern(1024, 3), wholeOf(to));
    stream.copy({ buffer: from, offset: 512, byteLength: 256 }, { buffer: to, offset: 256, byteLength: 256 });
    stream.copy({ buffer: to, offset: 256, byteLength: 256 }, { buffer: to, offset: 768, byteLength: 256 });
    await stream.synchronize();
    const expected = pattern(1024, 3);
    expected.set(pattern(2048).subarray(512, 768), 256);
    expected.set(pattern(2048).subarray(512, 768), 768);
    assert.deepEqual(await contentsOf(device, wholeOf(to)), expected);
  });

  contractTest(context, 'memory contents: pinned memory is uploaded and downloaded into', async () => {
    const device = context.device();
    using buffer = device.createBuffer(512, 'memory');
    using pinned = device.createPinned(512, 'pinned');
    await using stream = device.createStream('memory');
    assert.equal(pinned.bytes.byteLength, 512);
    pinned.bytes.set(pattern(512, 5));
    stream.upload(pinned.bytes, wholeOf(buffer));
    await stream.synchronize();
    pinned.bytes.fill(0);
    await stream.download(wholeOf(buffer), pinned.bytes);
    assert.deepEqual(new Uint8Array(pinned.bytes), pattern(512, 5));
  });
}

function testRanges(context: ContractContext): void {
  contractTest(context, 'memory: ranges outside a buffer, unaligned or too small are refused', async () => {
    const device = context.device();
    using buffer = device.createBuffer(1024, 'memory');
    await using stream = device.createStream('memory');
    const bytes = new Uint8Array(256);
    const refused = (offset: number, byteLength: number) => {
      assert.throws(() => stream.upload(bytes, { buffer, offset, byteLength }), { code: 'BINDING' });
    };
    refused(1024, 256);
    refused(-256, 256);
    refused(512, 1024);
    refused(4, 256);
    refused(0, 128);
    const long = { buffer, offset: 0, byteLength: 512 };
    const short = { buffer, offset: 512, byteLength: 256 };
    assert.throws(() => stream.copy(long, short), { code: 'BINDING' });
    await assert.rejects(async () => stream.download(short, new Uint8Array(512)), { code: 'BINDING' });
  });

  contractTest(context, 'memory: sizes that count no bytes are refused', async () => {
    const device = context.device();
    const before = device.liveObjects();
    for (const size of [-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
      assert.throws(() => device.createBuffer(size, 'odd'), { code: 'INVALID_ARGUMENT' });
      assert.throws(() => device.createPinned(size, 'odd'), { code: 'INVALID_ARGUMENT' });
    }
    assert.equal(device.liveObjects(), before);
  });

  contractTest(
    context,
    'memory: more than there is throws OUT_OF_MEMORY, and nothing stays behind',
    async () => {
      const device = context.device();
      const before = device.liveObjects();
      const { total, free } = await device.memory();
      assert.ok(total >= free && free > 0);
      assert.throws(() => device.createBuffer(2 * total + 2 ** 40, 'too large'), { code: 'OUT_OF_MEMORY' });
      assert.equal(device.liveObjects(), before);
    },
  );
}

function testLifetimes(context: ContractContext): void {
  contractTest(context, 'memory: liveObjects counts what is not disposed', async () => {
    const device = context.device();
    const before = device.liveObjects();
    const buffer = device.createBuffer(256, 'memory');
    const pinned = device.createPinned(256, 'pinned');
    const stream = device.createStream('memory');
    assert.equal(device.liveObjects(), before + 3);
    buffer[Symbol.dispose]();
    buffer[Symbol.dispose]();
    pinned[Symbol.dispose]();
    await stream[Symbol.asyncDispose]();
    await stream[Symbol.asyncDispose]();
    assert.equal(device.liveObjects(), before);
  });

  contractTest(context, 'memory: disposed objects throw DISPOSED', async () => {
    const device = context.device();
    const buffer = device.createBuffer(256, 'memory');
    const pinned = device.createPinned(256, 'pinned');
    const stream = device.createStream('memory');
    buffer[Symbol.dispose]();
    assert.throws(() => stream.upload(new Uint8Array(4), wholeOf(buffer)), { code: 'DISPOSED' });
    await assert.rejects(async () => stream.download(wholeOf(buffer), new Uint8Array(4)), {
      code: 'DISPOSED',
    });
    pinned[Symbol.dispose]();
    assert.throws(() => pinned.bytes, { code: 'DISPOSED' });
    await stream[Symbol.asyncDispose]();
    assert.throws(() => stream.record(), { code: 'DISPOSED' });
    await assert.rejects(stream.synchronize(), { code: 'DISPOSED' });
  });
}
