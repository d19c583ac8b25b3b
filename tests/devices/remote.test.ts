import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { wholeOf } from '../../src/device/index.ts';
import { DeviceGroup, DevicePipeline } from '../../src/devices/group/index.ts';
import { encodeFrame, FRAME, HEAD_BYTES } from '../../src/devices/remote/frame.ts';
import { FrameReader, type FrameRules } from '../../src/devices/remote/frame-reader.ts';
import { packGraph, unpackGraph } from '../../src/devices/remote/graph-text.ts';
import { factsOf, greetClient, greetServer } from '../../src/devices/remote/index.ts';
import { checkFacts, rulesOf } from '../../src/devices/remote/remote-facts.ts';
import { F32 } from '../../src/formats/index.ts';
import { openReferenceDevice } from '../../src/devices/reference/index.ts';
import { LanguageModel } from '../../src/engine/language-model.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { openCpu } from '../../src/node/open-cpu.ts';
import { SocketChannel } from '../../src/node/socket-channel.ts';
import { GraphBuilder, matmul, scale } from '../../src/ops/index.ts';
import { LOSS_CASES } from '../support/device-loss.ts';
import { checkFailedCreations } from '../support/failed-creations.ts';
import { graphOfEverything } from '../support/graph-of-everything.ts';
import { HUNG_MS } from '../support/hung.ts';
import { cpuRanks, SPLIT_ALL } from '../support/rank-devices.ts';
import { servedPair, socketPair, TERMS } from '../support/remote-pair.ts';
import { tinyModel } from '../support/tiny-model.ts';

/** Reads frames out of bytes that arrive in pieces of some size. */
function readIn(pieces: number, bytes: Uint8Array, rules: Partial<FrameRules> = {}) {
  const taken: { kind: number; text: unknown; data: Uint8Array; operands: readonly number[] }[] = [];
  const refused: string[] = [];
  const reader = new FrameReader({
    textLimit: () => 1000,
    admit: ({ dataBytes }) => new Uint8Array(dataBytes),
    take: (frame) => void taken.push(frame),
    pause: () => {},
    refuse: (why) => refused.push(why),
    ...rules,
  });
  for (let at = 0; at < bytes.length; at += pieces) reader.push(bytes.subarray(at, at + pieces));
  return { taken, refused };
}

function joined(...frames: (readonly Uint8Array[])[]): Uint8Array {
  return new Uint8Array(Buffer.concat(frames.flat()));
}

test('frames arrive whole, however the bytes are cut', () => {
  const large = Uint8Array.from({ length: 20_000 }, (_, at) => at);
  const bytes = joined(
    encodeFrame({ kind: 1, operands: [7, 2 ** 40, -1.5] }),
    encodeFrame({ kind: 2, text: { a: ['ü'] }, data: Uint8Array.of(1, 2, 3) }),
    encodeFrame({ kind: 3, data: large }),
  );
  for (const pieces of [1, 3, HEAD_BYTES - 1, HEAD_BYTES, HEAD_BYTES + 1, 1000, bytes.length]) {
    const { taken, refused } = readIn(pieces, bytes);
    assert.deepEqual(refused, []);
    assert.deepEqual(
      taken.map(({ kind }) => kind),
      [1, 2, 3],
    );
    assert.deepEqual(taken[0]?.operands.slice(0, 3), [7, 2 ** 40, -1.5]);
    assert.deepEqual(taken[1]?.text, { a: ['ü'] });
    assert.deepEqual(taken[1]?.data, Uint8Array.of(1, 2, 3));
    assert.deepEqual(taken[2]?.data, large);
  }
});

test('what is no frame, or larger than expected, is refused before there is memory for it', () => {
  const huge = joined(encodeFrame({ kind: 2 }));
  new DataView(huge.buffer).setUint32(8, 0xffff_ffff, true);
  let admitted = 0;
  const admit: FrameRules['admit'] = ({ kind, dataBytes }) => {
    admitted += dataBytes;
    throw new RangeError(`no data for ${kind}`);
  };
  const data = joined(encodeFrame({ kind: 5 }));
  new DataView(data.buffer).setUint32(12, 0xffff_fff0, true);
  for (const [bytes, why] of [
    [new Uint8Array(HEAD_BYTES), /no frame of this protocol/],
    [huge, /text of 4294967295 bytes, at most 1000/],
    [data, /no data for 5/],
    [joined(encodeFrame({ kind: 2, text: 1 })).fill(0xff, HEAD_BYTES), /encoded data was not valid/],
    [joined(encodeFrame({ kind: 2, text: 1 })).fill(0x7b, HEAD_BYTES), /JSON/],
  ] as const) {
    const { taken, refused } = readIn(7, joined([bytes], encodeFrame({ kind: 1 })), { admit });
    assert.equal(taken.length, 0);
    assert.equal(refused.length, 1);
    assert.match(refused[0] ?? '', why);
  }
  assert.equal(admitted, 0xffff_fff0);
});

test('graphs of every operator, and those of ranks, cross as they are', () => {
  const graph = graphOfEverything();
  const ranks = [graph, { ...graphOfEverything(), name: 'another rank' }];
  for (const sent of [graph, { ...graph, ranks }]) {
    const found = unpackGraph(JSON.parse(JSON.stringify(packGraph(sent))));
    assert.deepEqual(withoutUndefined(found), withoutUndefined(sent));
    const [input] = found.inputs;
    assert.ok(found.ops.some((op) => Object.values(op).includes(input)) || found.batch.counts === input);
  }
  const odd = new GraphBuilder('odd', { rows: 1, outputs: 1, slots: 1, blocksPerSlot: 1 });
  odd.output('y', scale(odd, odd.input('x', { axis: 'rows', width: 4 }), Number.NEGATIVE_INFINITY));
  const [op] = unpackGraph(JSON.parse(JSON.stringify(packGraph(odd.finish())))).ops;
  assert.ok(op?.kind === 'scale' && Object.values(op).includes(Number.NEGATIVE_INFINITY));
  for (const wrong of [{}, { values: [], graph: { inputs: [{ $value: 3 }] } }, { values: 1, graph: {} }])
    assert.throws(() => unpackGraph(wrong), RangeError);
});

/** Undefined members do not cross, and mean the same as none. */
function withoutUndefined(graph: object): unknown {
  return JSON.parse(
    JSON.stringify(graph, (_, value: unknown) => (typeof value === 'number' ? String(value) : value)),
  );
}

/** Both sides' ends of a greeting that fails. */
async function failedGreeting(client: Partial<typeof TERMS>): Promise<[unknown, unknown]> {
  const [near, far] = await socketPair();
  const device = openReferenceDevice();
  const ends = await Promise.allSettled([
    greetServer(new SocketChannel(near, { address: 'server' }), { ...TERMS, ...client }, { session: 's' }),
    greetClient(new SocketChannel(far, { address: 'client' }), TERMS, () => factsOf(device)),
  ]);
  assert.ok(near.destroyed && far.destroyed);
  return ends.map((end) => (end.status === 'rejected' ? end.reason : end.value)) as [unknown, unknown];
}

function isRefusal(error: unknown, why: RegExp): void {
  const { code, message } = error as { code?: string; message?: string };
  assert.equal(code, 'REMOTE_REFUSED');
  assert.match(message ?? '', why);
}

test('another secret and another version are refused on both sides', async () => {
  const [client, server] = await failedGreeting({ secret: 'another secret of a test' });
  isRefusal(client, /server: the secrets differ/);
  isRefusal(server, /client: the secrets differ/);
  const [newer, older] = await failedGreeting({ version: 'newer' });
  isRefusal(newer, /it is rocmforge test with protocol 1, this one newer with 1/);
  isRefusal(older, /client: it refused, and says why itself/);
});

test('a server that does not know the secret gets no device, and one that is none is unavailable', async () => {
  const impostor = async (far: Socket, answer: readonly Uint8Array[]) => {
    for (const part of answer) far.write(part);
    far.on('error', () => {}).resume();
    await once(far, 'close');
  };
  const hello = encodeFrame({
    kind: FRAME.hello,
    text: { protocol: 1, version: 'test', nonce: '00', deadline: 1000 },
  });
  const facts = await factsOf(openReferenceDevice());
  const welcome = encodeFrame({ kind: FRAME.welcome, text: { proof: '00'.repeat(32), facts } });
  for (const [answer, expected] of [
    [[...hello, ...welcome], { code: 'REMOTE_REFUSED', message: /it does not know the secret/ }],
    [
      [Buffer.from('HTTP/1.1 400 Bad Request\r\n'.repeat(9))],
      { code: 'DEVICE_UNAVAILABLE', message: /no frame/ },
    ],
    [encodeFrame({ kind: FRAME.hello, text: {} }), { code: 'REMOTE_REFUSED', message: /no nonce/ }],
    ...[undefined, 0.5, 2 ** 31, '1000'].map(
      (deadline) =>
        [
          encodeFrame({
            kind: FRAME.hello,
            text: { protocol: 1, version: 'test', nonce: '00', deadline },
          }),
          { code: 'REMOTE_REFUSED', message: /no deadline of 1 to 2147483647 ms/ },
        ] as const,
    ),
    ...[null, 5, 'x', [], {}, { code: 'REMOTE_REFUSED', params: null }].map(
      (text) =>
        [
          encodeFrame({ kind: FRAME.refused, text }),
          { code: 'DEVICE_UNAVAILABLE', message: /it gave no reason/ },
        ] as const,
    ),
    [
      encodeFrame({ kind: FRAME.refused, text: refusalWith('no\u001b[2J\n\u202eway') }),
      { code: 'REMOTE_REFUSED', message: /: no \[2J way$/ },
    ],
    [encodeFrame({ kind: FRAME.alive, text: {} }), { code: 'DEVICE_UNAVAILABLE' }],
  ] as const) {
    const [near, far] = await socketPair();
    const ended = impostor(far, answer);
    const greeting = greetServer(new SocketChannel(near, { address: 'x' }), TERMS, { session: 's' });
    await assert.rejects(greeting, expected);
    await ended;
  }
});

/** A refusal as it is sent. */
function refusalWith(why: string) {
  return { code: 'REMOTE_REFUSED', params: { address: 'y', why } };
}

test('nothing that an unknown one sends is shown as it is, or at length', async () => {
  const orders = `\u001b]0;owned\u0007\n10.0.0.9:1 uses the device\n${'A'.repeat(9000)}`;
  const login = { protocol: 1, version: orders, nonce: '', session: '', proof: '', deadline: 1000 };
  for (const frame of [
    { kind: FRAME.refused, text: refusalWith(orders) },
    { kind: FRAME.login, text: login },
    { kind: FRAME.login, text: orders },
  ]) {
    const [near, far] = await socketPair();
    const greeting = greetClient(new SocketChannel(far, { address: 'unknown' }), TERMS, () =>
      assert.fail('it is not known'),
    );
    near.on('error', () => {}).resume();
    for (const part of encodeFrame(frame)) near.write(part);
    const { message } = (await greeting.catch((error: unknown) => error)) as Error;
    assert.match(message, /with unknown: |unknown is not available: /);
    assert.doesNotMatch(message, /\p{Cc}/u);
    assert.ok(message.length < 400);
  }
});

test('what a device says of itself is shown without orders to a terminal', async () => {
  const { info, ...facts } = await factsOf(openReferenceDevice());
  const found = checkFacts({
    ...facts,
    info: { ...info, name: 'a\u001b[2Jb', details: { 'c\n': 'd\r', e: 5 } },
  });
  assert.equal(found.info.name, 'a [2Jb');
  assert.deepEqual(found.info.details, { 'c ': 'd ', e: 5 });
});

test('both sides of different patience say that they are there as often as the other expects', async () => {
  const intervals: number[] = [];
  const counting = (socket: Socket, address: string) =>
    new (class extends SocketChannel {
      override every(milliseconds: number, work: () => void): () => void {
        // The time for an answer to a greeting is none of signs of life.
        if (milliseconds < 10_000) intervals.push(milliseconds);
        return super.every(milliseconds, work);
      }
    })(socket, { address });
  const [near, far] = await socketPair();
  const device = openReferenceDevice();
  const [server, client] = await Promise.all([
    greetServer(counting(near, 'server'), { ...TERMS, deadline: 2000 }, { session: 's' }),
    greetClient(counting(far, 'client'), { ...TERMS, deadline: 30_000 }, () => factsOf(device)),
  ]);
  assert.deepEqual(intervals, [500, 500]);
  await Promise.all(
    [server, client].map(({ connection }) => connection.close(new Error('the test is over'))),
  );
  server.connection.watch(2000, 2000);
  assert.equal(intervals.length, 2, 'a connection that has ended is not watched');
});

test('who is greeted and then sends what was not asked for is cut off', async () => {
  await using device = openReferenceDevice();
  for (const frame of [
    { kind: 99 },
    { kind: FRAME.upload, operands: [1, 1, 0], data: new Uint8Array(8) },
    { kind: FRAME.run, operands: [77, 1] },
    { kind: FRAME.memory, operands: [1], text: 'more' },
  ]) {
    const { remote, serving, socket } = await servedPair(device);
    // Nothing is waited for but the end, which by itself keeps no process alive.
    socket.ref();
    for (const part of encodeFrame(frame)) socket.write(part);
    assert.match(String(await remote.lost), /device a test was lost/);
    assert.match(String(await serving), /the protocol was broken/);
    await remote[Symbol.asyncDispose]();
    assert.equal(device.liveObjects(), 0);
  }
});

test(
  'a side that is silent is lost at the deadline, and what waits for it fails',
  { timeout: HUNG_MS },
  async () => {
    const [near, far] = await socketPair();
    let isSilent = false;
    const channel = new (class extends SocketChannel {
      override write(parts: readonly Uint8Array[]): void {
        if (!isSilent) super.write(parts);
      }
    })(far, { address: 'client' });
    const terms = { ...TERMS, deadline: 200 };
    const device = openReferenceDevice();
    const [greeted, client] = await Promise.all([
      greetServer(new SocketChannel(near, { address: 'the silent one' }), terms, { session: 's' }),
      greetClient(channel, TERMS, () => factsOf(device)),
    ]);
    // It neither answers nor says that it is there.
    isSilent = true;
    client.expect({
      textLimit: () => 1000,
      admit: () => new Uint8Array(0),
      take: () => new Promise(() => {}),
    });
    const { RemoteDevice } = await import('../../src/devices/remote/index.ts');
    const remote = new RemoteDevice({ ...greeted, here: true });
    await assert.rejects(remote.memory(), {
      code: 'DEVICE_LOST',
      message: /the silent one was lost: it was silent for 0.2 s/,
    });
    assert.throws(() => remote.createBuffer(256, 'late'), { code: 'DEVICE_LOST' });
    assert.throws(() => remote.createStream('late'), { code: 'DEVICE_LOST' });
    await remote[Symbol.asyncDispose]();
    await client.connection.close(new Error('the test is over'));
    assert.ok(near.destroyed && far.destroyed);
  },
);

test('memory that the other side does not have fails what is recorded with it, by its type', async () => {
  await using device = await openCpu({ threads: 1, memoryLimit: 64 * 2 ** 20 });
  const { remote, serving } = await servedPair(device);
  const g = new GraphBuilder('large', { rows: 1, outputs: 1, slots: 1, blocksPerSlot: 1 });
  g.output('y', scale(g, g.input('x', { axis: 'rows', width: 4 }), 2));
  const program = await remote.compile(g.finish());
  using first = remote.createBuffer(40 * 2 ** 20, 'first');
  const taken = device.createBuffer(20 * 2 ** 20, 'of someone else');
  using second = remote.createBuffer(20 * 2 ** 20, 'second');
  const executable = program.bind({
    values: new Map(program.graph.inputs.map((input) => [input, wholeOf(first)])),
    outputs: new Map([['y', wholeOf(second)]]),
    weights: new Map(),
    scratch: wholeOf(first),
  });
  await assert.rejects(remote.record([executable], 'large'), { code: 'OUT_OF_MEMORY', message: /second/ });
  const stream = remote.createStream('large');
  stream.upload(new Uint8Array(256), wholeOf(second));
  await assert.rejects(stream.synchronize(), { code: 'OUT_OF_MEMORY' });
  taken[Symbol.dispose]();
  await remote[Symbol.asyncDispose]();
  await serving;
  assert.equal(device.liveObjects(), 0);
});

test('rows of a file of the other side are read there, and none that are not in it', async () => {
  const file = new Uint8Array(4 * 64).map((_, at) => at);
  const reads: number[] = [];
  const own = {
    fingerprint: 'the model',
    tensor: (name: string) =>
      name === 'w'
        ? {
            byteLength: file.byteLength,
            format: F32,
            read: async (offset: number, into: Uint8Array) => {
              reads.push(offset);
              into.set(file.subarray(offset, offset + into.byteLength));
            },
          }
        : undefined,
  };
  await using device = openReferenceDevice();
  const { remote, serving } = await servedPair(device, 'a test', own);
  const info = { name: 'w' };
  assert.equal(remote.model, 'the model');
  assert.throws(() => remote.useOwnFile('another', [info]), { code: 'REMOTE_REFUSED' });
  await assert.rejects(remote.openFile('/etc/hostname'), /nobody may name files here/);
  remote.useOwnFile('the model', [info]);
  const g = new GraphBuilder('rows', { rows: 1, outputs: 1, slots: 1, blocksPerSlot: 1 });
  g.output('y', matmul(g, g.input('x', { axis: 'rows', width: 16 }), g.weight('w', F32, 4, 16)));
  const program = await remote.compile(g.finish());
  const [weight] = program.weights;
  assert.ok(weight);
  assert.equal(weight.hasOwn?.(info), true);
  assert.equal(weight.hasOwn?.({ name: 'w' }), false);
  using buffer = remote.createBuffer(256, 'w');
  const target = { buffer, offset: 0, byteLength: 256 };
  const rows = { part: 0, firstRow: 1, rowCount: 2, format: F32 };
  const stream = remote.createStream('load');
  stream.upload(new Uint8Array(256), target);
  stream.packOwn(weight, rows, { tensor: { name: 'w' }, offset: 64 }, target);
  const found = new Uint8Array(256);
  await stream.download(target, found);
  assert.deepEqual(found.subarray(64, 192), file.subarray(64, 192));
  const columns = { stride: 64, rows: [{ start: 0, end: 2 }], bytes: [{ start: 0, end: 16 }] };
  const right = { ...columns, rows: [{ start: 0, end: 4 }], bytes: [{ start: 32, end: 64 }] };
  stream.packOwn(weight, rows, { tensor: { name: 'w' }, offset: 0, cut: right }, target);
  await stream.download(target, found);
  const cut = [0, 64, 128, 192].flatMap((row) => [...file.subarray(row + 32, row + 64)]);
  assert.deepEqual([...found.subarray(64, 192)], cut);
  assert.deepEqual(reads.splice(0), [64, 0]);
  const w = { name: 'w' };
  const [half, none] = [{ start: 0, end: 32 }, [] as const];
  const absent = /the file of this process has no 128 bytes/;
  const wrong = /rows of a file are some of a tensor/;
  for (const [from, message] of [
    [{ tensor: { name: 'other' }, offset: 0 }, absent],
    [{ tensor: w, offset: 200 }, absent],
    [{ tensor: w, offset: -64 }, wrong],
    [{ tensor: w, offset: 64, cut: columns }, wrong],
    [{ tensor: w, offset: 64, cut: { stride: 16, rows: [{ start: 0, end: 4 }], bytes: [half] } }, wrong],
    [{ tensor: w, offset: 64, cut: { stride: 64, rows: none, bytes: none } }, wrong],
    [
      { tensor: w, offset: 0, cut: { stride: 128, rows: [{ start: 0, end: 4 }], bytes: [half] } },
      /the file of this process has no 512 bytes/,
    ],
  ] as const) {
    const failing = remote.createStream('fails');
    failing.packOwn(weight, rows, from, target);
    await assert.rejects(failing.synchronize(), message);
  }
  assert.deepEqual(reads, []);
  await remote[Symbol.asyncDispose]();
  await serving;
  assert.equal(device.liveObjects(), 0);
});

test('an end that fails leaves no other object of its connection behind', async () => {
  await using device = openReferenceDevice();
  const createBuffer = device.createBuffer.bind(device);
  let made = 0;
  const create: typeof createBuffer = (...of) => {
    const buffer = createBuffer(...of);
    if (made++ > 0) return buffer;
    const dispose = buffer[Symbol.dispose].bind(buffer);
    return Object.assign(buffer, {
      [Symbol.dispose]: () => {
        dispose();
        throw new Error('the driver refuses');
      },
    });
  };
  const { remote, serving, socket } = await servedPair(Object.assign(device, { createBuffer: create }));
  const failed = assert.rejects(serving, /the driver refuses/);
  for (const label of ['first', 'second']) remote.createBuffer(256, label);
  await remote.memory();
  assert.equal(device.liveObjects(), 2);
  socket.destroy();
  await failed;
  await remote[Symbol.asyncDispose]();
  assert.equal(device.liveObjects(), 0);
});

test('how a device allocates is described well enough to plan for it', async () => {
  const MIB = 2 ** 20;
  const rules = {
    footprint: (sizes: readonly number[]) =>
      sizes.reduce((sum, bytes) => sum + Math.ceil(bytes / (2 * MIB)) * 2 * MIB, 0),
    own: () => 8 * MIB,
    largestBuffer: 4096 * MIB,
    waiting: (streams: number, chunk: number) => [
      chunk + 64,
      ...Array.from({ length: streams }, () => chunk),
    ],
    pinnedInside: () => false,
  };
  const described = await factsOf(Object.assign(openReferenceDevice(), { memoryRules: rules }));
  const found = rulesOf(described.rules, false);
  assert.equal(found.footprint([5 * MIB, 100, 100]), 8 * MIB);
  assert.equal(found.own([1]), 8 * MIB);
  assert.equal(found.waiting(4, MIB).length, 5);
  assert.equal(found.pinnedInside('weights'), false);
  const cpu = rulesOf((await factsOf(openReferenceDevice())).rules, false);
  assert.equal(cpu.footprint([1000, 7]), 1007);
  assert.deepEqual([cpu.pinnedInside('weights'), cpu.pinnedInside('inputs')], [true, false]);
});

test(
  'every creation on a pipeline with a remote stage that fails leaves nothing',
  { timeout: HUNG_MS },
  async () => {
    await using far = await openCpu({ threads: 1, cpuKernels: 'wasm' });
    const { remote, serving } = await servedPair(far);
    const device = new DevicePipeline([remote, await openCpu({ threads: 1, cpuKernels: 'wasm' })]);
    await checkFailedCreations(device, { load: 'eager', step: 7 });
    await device[Symbol.asyncDispose]();
    await serving;
    assert.equal(far.liveObjects(), 0);
  },
);

for (const { name, run } of LOSS_CASES) {
  test(`a stage whose connection is cut: ${name}`, { timeout: HUNG_MS }, async () => {
    const served: Promise<unknown>[] = [];
    await run(async () => {
      const far = await openCpu({ threads: 1, cpuKernels: 'wasm' });
      const { remote, serving, socket } = await servedPair(far);
      served.push(
        serving.then(async () => {
          assert.equal(far.liveObjects(), 0);
          await far[Symbol.asyncDispose]();
        }),
      );
      const own = await openCpu({ threads: 1, cpuKernels: 'wasm' });
      return { device: new DevicePipeline([remote, own]), lose: () => socket.destroy() };
    });
    await Promise.all(served);
  });
}

test('a group of another process is a stage beside a group of this one, and only of as many ranks', async () => {
  const far = await cpuRanks(2);
  const { remote, serving } = await servedPair(far);
  await using device = new DevicePipeline([remote, await cpuRanks(2)]);
  const parts = { gguf: await tinyModel('Q4_0'), architectures: ALL_ARCHITECTURES };
  const text = async (model: LanguageModel) =>
    model.generate([1, 40, 41, 42], { temperature: 0, maxTokens: 12, ignoreEnd: true }).text();
  const options = { context: 64, batch: 16, deterministic: true };
  const found = await (async () => {
    await using model = await LanguageModel.open({ ...parts, device, sharesDevice: true }, options);
    return await text(model);
  })();
  await using alone = await LanguageModel.open(
    {
      gguf: await tinyModel('Q4_0'),
      device: await openCpu({ threads: 1 }),
      architectures: ALL_ARCHITECTURES,
    },
    options,
  );
  assert.equal(found, await text(alone));
  await using three = new DeviceGroup(
    [openReferenceDevice(), openReferenceDevice(), openReferenceDevice()],
    SPLIT_ALL,
  );
  assert.throws(() => new DevicePipeline([remote, three]), {
    code: 'INVALID_ARGUMENT',
    message: /2, 3 ranks/,
  });
  await device[Symbol.asyncDispose]();
  await serving;
  await far[Symbol.asyncDispose]();
});

test('what was sent leaves at once, or is waited for', { timeout: HUNG_MS }, async () => {
  const [near, far] = await socketPair();
  const channel = new SocketChannel(near, { address: 'a test' });
  channel.write([new Uint8Array(100)]);
  assert.equal(channel.flushed(), undefined);
  assert.equal(near.writableLength, 0);
  far.pause();
  channel.write([new Uint8Array(64 * 2 ** 20)]);
  const leaving = channel.flushed();
  assert.ok(leaving);
  far.resume();
  await leaving;
  channel.write([new Uint8Array(64 * 2 ** 20)]);
  const cut = channel.flushed();
  far.destroy();
  await cut;
  await channel.close();
  assert.equal(channel.flushed(), undefined);
});
