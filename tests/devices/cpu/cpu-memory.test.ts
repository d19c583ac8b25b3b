import assert from 'node:assert/strict';
import { test } from 'node:test';
import { wholeOf } from '../../../src/device/index.ts';
import { BankSet } from '../../../src/devices/cpu/memory/bank-set.ts';
import { Q8_0 } from '../../../src/formats/index.ts';
import { type NodeCpuOptions, openCpu } from '../../../src/node/open-cpu.ts';
import { type GraphBuilder, matmul } from '../../../src/ops/index.ts';
import { caseData } from '../../support/contract/case-data.ts';
import { plainBatch } from '../../support/contract/ragged-batch.ts';
import { runCase } from '../../support/contract/run-case.ts';

const MIB = 1024 * 1024;

test('the memory limit holds, and what is disposed counts as free', async () => {
  await using device = await openCpu({ threads: 1, memoryLimit: 10 * MIB });
  using first = device.createBuffer(6 * MIB, 'first');
  assert.throws(() => device.createBuffer(5 * MIB, 'second'), {
    code: 'OUT_OF_MEMORY',
    params: { device: 'cpu', what: 'second', bytes: 5 * MIB, free: 4 * MIB },
  });
  assert.deepEqual(await device.memory(), { total: 10 * MIB, free: 4 * MIB });
  first[Symbol.dispose]();
  device.createBuffer(9 * MIB, 'third')[Symbol.dispose]();
  assert.deepEqual(await device.memory(), { total: 10 * MIB, free: 10 * MIB });
  assert.equal(device.liveObjects(), 0);
});

test('a buffer larger than any bank is refused', async () => {
  await using device = await openCpu({ threads: 1, memoryLimit: 64 * 1024 ** 3 });
  assert.throws(() => device.createBuffer(4 * 1024 ** 3, 'huge'), { code: 'OUT_OF_MEMORY' });
  assert.equal(device.liveObjects(), 0);
  assert.equal((await device.memory()).free, 64 * 1024 ** 3);
});

test('where the platform reserves less than 4 GiB at once, banks are as large as it allows', async () => {
  const { Memory } = WebAssembly;
  const most = 1024 * MIB;
  const asked: number[] = [];
  WebAssembly.Memory = class extends Memory {
    constructor(descriptor: WebAssembly.MemoryDescriptor) {
      const byteLength = (descriptor.maximum ?? 0) * 65536;
      asked.push(byteLength);
      if (byteLength > most) throw new RangeError('no room');
      super(descriptor);
    }
  };
  try {
    await using device = await openCpu({ threads: 1 });
    using first = device.createBuffer(600 * MIB, 'first');
    using second = device.createBuffer(600 * MIB, 'second');
    assert.notEqual(first.byteLength, 0);
    assert.notEqual(second.byteLength, 0);
    assert.throws(() => device.createBuffer(1024 * MIB, 'third'), { code: 'OUT_OF_MEMORY' });
    assert.ok(asked.filter((byteLength) => byteLength > most).length >= 2, 'more was asked for first');
  } finally {
    WebAssembly.Memory = Memory;
  }
});

test('buffers go on in a new bank when one is full', async () => {
  await using device = await openCpu({ threads: 2, bankBytes: 8 * MIB });
  await using stream = device.createStream('banks');
  const buffers = Array.from({ length: 12 }, (_, i) => device.createBuffer(MIB, `buffer ${i}`));
  buffers.forEach((buffer, i) => {
    stream.upload(new Uint8Array(MIB).fill(i + 1), wholeOf(buffer));
  });
  for (let i = 0; i + 1 < buffers.length; i += 2) {
    const [from, to] = [buffers[i], buffers[i + 1]];
    if (from && to) stream.copy(wholeOf(from), wholeOf(to));
  }
  for (const [i, buffer] of buffers.entries()) {
    const seen = new Uint8Array(MIB);
    await stream.download(wholeOf(buffer), seen);
    const expected = i - (i % 2) + 1;
    assert.ok(
      seen.every((byte) => byte === expected),
      `buffer ${i}`,
    );
    buffer[Symbol.dispose]();
  }
});

test('matrices are multiplied where they lie: a step brings no copy of them to the bank of its activations', async () => {
  const size = 1024;
  const data = caseData({
    op: 'matmul',
    name: 'three products, one after another',
    batch: plainBatch(2),
    record: (g: GraphBuilder) => {
      let x = g.input('x', { axis: 'rows', width: size });
      for (const name of ['a', 'b', 'c']) x = matmul(g, x, g.weight(name, Q8_0, size, size));
      return { y: x };
    },
    fill: {},
  });
  /** What the step has taken, when all buffers are there. */
  const usedWith = async (options: NodeCpuOptions): Promise<number> => {
    await using device = await openCpu({ threads: 2, ...options });
    let used = 0;
    const before = async () => {
      const { total, free } = await device.memory();
      used = total - free;
    };
    await runCase(device, data, 'whole', { before });
    return used;
  };
  for (const cpuKernels of ['auto', 'wasm'] as const) {
    const staged = (await usedWith({ spread: 3, cpuKernels })) - (await usedWith({ spread: 1, cpuKernels }));
    assert.ok(staged > 0, 'the activations are in another bank than the results');
    assert.ok(staged < size * size, `${staged} bytes of copies with ${cpuKernels}`);
  }
});

test('a bank that was left is filled again before another one grows', () => {
  const limits = { byteLength: 64 * MIB, reservedBytes: 0, stagingBytes: 0 };
  const banks = new BankSet({ limits, memoryLimit: 1024 * MIB, spread: 1, onBank: () => {} });
  const first = banks.allocate(60 * MIB, 'a model');
  const second = banks.allocate(20 * MIB, 'the rest of it');
  const small = banks.allocate(MIB, 'what a step computes with');
  assert.equal(small.bank, second.bank, 'not in the gap behind the model');
  banks.release(first);
  assert.equal(banks.allocate(30 * MIB, 'another model').bank, first.bank);
  assert.equal(banks.allocate(30 * MIB, 'the rest of that').bank, second.bank);
});

test('a thousand buffers come and go without growth', async () => {
  await using device = await openCpu({ threads: 1 });
  const { free } = await device.memory();
  device.createBuffer(20 * MIB, 'warm')[Symbol.dispose]();
  const before = process.memoryUsage().rss;
  for (let i = 0; i < 1000; i++) {
    using _ = device.createBuffer(20 * MIB - i * 1000, 'buffer');
    using pinned = device.createPinned(1000 + i, 'pinned');
    pinned.bytes.fill(1);
  }
  assert.equal(device.liveObjects(), 0);
  assert.equal((await device.memory()).free, free);
  const grown = process.memoryUsage().rss - before;
  assert.ok(grown < 30 * MIB, `${grown} bytes more`);
});
