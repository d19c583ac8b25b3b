import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { isRocmforgeError } from '../../src/base/errors.ts';
import { blockEventBatch } from '../../src/node/block-event-batch.ts';
import { type KvEventOptions, KvEventPublisher } from '../../src/node/kv-event-publisher.ts';
import { servedModels } from '../../src/node/model-files.ts';
import { ModelServer } from '../../src/server/index.ts';
import { pythonWith } from '../support/python.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { post } from '../support/test-server.ts';
import { tinyBytes } from '../support/tiny-model.ts';
import { unpacked } from '../support/unpacked.ts';
import { ZmtpClient } from '../support/zmtp-client.ts';

const LOCAL = 'tcp://127.0.0.1:0';
const EMPTY: Buffer = Buffer.alloc(0);
const ids = (length: number, from = 3) => Array.from({ length }, (_, at) => from + at);

/** A number as it is sent: 8 bytes, big-endian. */
function numberOf(value: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt.asUintN(64, value));
  return bytes;
}

/** FNV-1a of 64 bits by its definition. */
function fnv(bytes: Iterable<number>): bigint {
  let hash = 0xcbf29ce484222325n;
  for (const byte of bytes) hash = ((hash ^ BigInt(byte)) * 0x100000001b3n) & 0xffffffffffffffffn;
  return hash;
}

function hashOf(parent: bigint | undefined, block: readonly number[]): bigint {
  return fnv([
    ...(parent === undefined ? [] : numberOf(parent)),
    ...Buffer.from(Uint32Array.from(block).buffer),
  ]);
}

async function publisherOf(
  t: TestContext,
  options: Partial<KvEventOptions> = {},
): Promise<{ publisher: KvEventPublisher; events: string; replay: string }> {
  const publisher = await KvEventPublisher.open({ endpoint: LOCAL, replayEndpoint: LOCAL, ...options });
  t.after(() => publisher[Symbol.asyncDispose]());
  const [events = '', replay = ''] = publisher.endpoints;
  return { publisher, events, replay };
}

/** A client that is closed when the test ends. */
async function connected(t: TestContext, ...of: Parameters<typeof ZmtpClient.connect>): Promise<ZmtpClient> {
  const client = await ZmtpClient.connect(...of);
  t.after(() => client[Symbol.dispose]());
  return client;
}

/** A client that hears of these topics when it is returned, and is closed when the test ends. */
async function subscribed(t: TestContext, endpoint: string, topic = ''): Promise<ZmtpClient> {
  const client = await connected(t, endpoint, 'SUB');
  client.send([Buffer.from(`\x01${topic}`)]);
  await client.ping();
  return client;
}

/** The events of a message. */
function eventsOf([, , batch = EMPTY]: readonly Buffer[]): unknown[][] {
  const [time, events, rank] = unpacked(batch) as [number, unknown[][], number];
  assert.ok(time > 1.7e9 && time < 1e11, 'seconds');
  assert.equal(rank, 0);
  return events;
}

test('a router learns which blocks a server holds, and can compute their hashes', async (t) => {
  const { publisher, events, replay } = await publisherOf(t, { topic: 'kv@here@tiny' });
  const path = join(temporaryFolder(t), 'tiny.gguf');
  writeFileSync(path, await tinyBytes('Q8_0'));
  const options = {
    device: 'cpu',
    threads: 1,
    sequences: 2,
    onBlocks: publisher.publish,
  } as const satisfies Parameters<typeof servedModels>[1];
  const server = new ModelServer({ models: await servedModels([path], options) });
  await server.loaded;
  const subscriber = await subscribed(t, events, 'kv@');
  const next = async () => {
    const message = await subscriber.receive();
    assert.equal(String(message[0]), 'kv@here@tiny');
    return eventsOf(message);
  };
  const ask = async (prompt: number[], fields: object = {}) => {
    const response = await server.fetch(post('/v1/completions', { prompt, max_tokens: 1, ...fields }));
    assert.equal(response.status, 200, await response.text());
  };
  await ask(ids(110));
  const a = hashOf(undefined, ids(32));
  const b = hashOf(a, ids(32, 35));
  const c = hashOf(b, ids(32, 67));
  assert.deepEqual(await next(), [['BlockStored', [a, b, c], null, ids(96), 32, null, 'GPU', null]]);
  // It shares the first block, of which nothing new is to be told.
  await ask([...ids(40), ...ids(30, 90)]);
  const other = [...ids(8, 35), ...ids(24, 90)];
  assert.deepEqual(await next(), [['BlockStored', [hashOf(a, other)], a, other, 32, null, 'GPU', null]]);
  await server.fetch(post('/slots/0?action=erase', {}));
  await server.fetch(post('/slots/1?action=erase', {}));
  const removed = [...(await next()), ...(await next())];
  assert.deepEqual(
    new Set(removed.flatMap(([name, hashes, medium]) => [name, medium, ...(hashes as bigint[])])),
    new Set(['BlockRemoved', 'GPU', a, b, c, hashOf(a, other)]),
  );
  await ask(ids(40), { cache_salt: 'pepper' });
  const root = fnv(Buffer.from('[[],"pepper"]'));
  const salted = ['BlockStored', [hashOf(root, ids(32))], null, ids(32), 32, null, 'GPU', null, [['pepper']]];
  assert.deepEqual(await next(), [salted]);
  await server[Symbol.asyncDispose]();
  // What came before the subscriber did is sent again, from any number on.
  const reader = await connected(t, replay, 'REQ');
  reader.send([EMPTY, numberOf(1n)]);
  const replayed: unknown[][] = [];
  for (let expected = 1n; ; expected++) {
    const [empty, number = EMPTY, batch = EMPTY] = await reader.receive();
    assert.equal(empty?.length, 0);
    if (batch.length === 0) {
      assert.equal(number.readBigInt64BE(), -1n);
      break;
    }
    assert.equal(number.readBigUInt64BE(), expected);
    replayed.push(...eventsOf([EMPTY, number, batch]));
  }
  assert.deepEqual(replayed.at(-2), salted);
  assert.deepEqual(replayed.at(-1), ['AllBlocksCleared'], 'its engine has ended');
});

test('the latest batches are kept, and topics are heeded', async (t) => {
  const { publisher, events, replay } = await publisherOf(t, { topic: 'a', bufferSteps: 2 });
  const deaf = await subscribed(t, events, 'b');
  const subscriber = await subscribed(t, events);
  for (const hash of [1n, 2n, 3n]) publisher.publish([{ kind: 'removed', hashes: [hash] }]);
  const messages = [await subscriber.receive(), await subscriber.receive(), await subscriber.receive()];
  assert.deepEqual(
    messages.flatMap(eventsOf),
    [1n, 2n, 3n].map((hash) => ['BlockRemoved', [hash], 'GPU']),
  );
  assert.deepEqual(
    messages.map(([, number]) => number),
    [0n, 1n, 2n].map(numberOf),
  );
  const reader = await connected(t, replay, 'DEALER');
  reader.send([EMPTY, numberOf(0n)]);
  for (const number of [1n, 2n, -1n]) {
    const [, found, batch] = await reader.receive();
    assert.deepEqual(found, numberOf(number));
    assert.equal(batch?.length === 0, number === -1n);
  }
  await deaf.ping();
  assert.equal(deaf.received, 0);
});

test('whoever does not speak the protocol is disconnected, and others go on', async (t) => {
  const { publisher, events, replay } = await publisherOf(t);
  const subscriber = await subscribed(t, events);
  const closed = async (endpoint: string, type: 'SUB' | 'DEALER', bytes: Buffer) => {
    const client = await connected(t, endpoint, type);
    client.socket.write(bytes);
    await once(client.socket, 'close');
  };
  await closed(events, 'DEALER', EMPTY);
  await closed(events, 'SUB', Buffer.from([2, 0xff, 0, 0, 0, 0, 0, 0, 0]));
  await closed(events, 'SUB', Buffer.alloc(40, 0xff));
  await closed(events, 'SUB', Buffer.from(Array.from({ length: 65 }, () => [0, 2, 1, 65]).flat()));
  await closed(replay, 'DEALER', Buffer.from([0, 3, 1, 2, 3]));
  await closed(replay, 'DEALER', Buffer.from(Array.from({ length: 20 }, () => [1, 0]).flat()));
  publisher.publish([{ kind: 'cleared' }]);
  assert.deepEqual(eventsOf(await subscriber.receive()), [['AllBlocksCleared']]);
});

test('an address that cannot be used is refused', async (t) => {
  const { events } = await publisherOf(t);
  for (const endpoint of ['ipc:///x', 'tcp://host', 'tcp://*:99999', '127.0.0.1:5557']) {
    await assert.rejects(KvEventPublisher.open({ endpoint }), (error) =>
      isRocmforgeError(error, 'INVALID_ARGUMENT'),
    );
  }
  await assert.rejects(KvEventPublisher.open({ endpoint: LOCAL, replayEndpoint: events }), (error) =>
    isRocmforgeError(error, 'ADDRESS_IN_USE'),
  );
});

const python = pythonWith('zmq, msgpack');
const PEER = `
import sys, zmq, msgpack
context = zmq.Context()
sub = context.socket(zmq.SUB)
sub.connect(sys.argv[1])
sub.setsockopt_string(zmq.SUBSCRIBE, 'kv')
while True:
    topic, number, batch = sub.recv_multipart()
    time, events, rank = msgpack.unpackb(batch)
    if events[0][0] == 'BlockStored': break
print(topic.decode(), int.from_bytes(number, 'big') > 0, events, rank)
replay = context.socket(zmq.DEALER)
replay.connect(sys.argv[2])
replay.send_multipart([b'', number])
again = replay.recv_multipart()[1:]
while replay.recv_multipart()[1] != b'\\xff' * 8: pass
print(again == [number, batch])
`;

test(
  'libzmq and msgpack read it',
  { skip: python === undefined && 'needs a Python with pyzmq and msgpack' },
  async (t) => {
    const { publisher, events, replay } = await publisherOf(t, { topic: 'kv@x' });
    const peer = spawn(python ?? '', ['-c', PEER, events, replay]);
    let out = '';
    peer.stdout.on('data', (text) => (out += String(text)));
    peer.stderr.on('data', (text) => (out += String(text)));
    const stored = {
      kind: 'stored',
      hashes: [2n ** 64n - 1n],
      parent: 5n,
      ids: [1, 300],
      lineage: '[[["law",1]],"salt"]',
    } as const;
    publisher.publish([{ kind: 'cleared' }]);
    const telling = setInterval(() => publisher.publish([stored]), 5);
    const [code] = (await once(peer, 'close')) as [number];
    clearInterval(telling);
    assert.equal(code, 0, out);
    const event = "['BlockStored', [18446744073709551615], 5, [1, 300], 32, None, 'GPU', 'law', [['law']]]";
    assert.equal(out, `kv@x True [${event}] 0\nTrue\n`);
  },
);

const typed = pythonWith('msgspec');
/** The events as vLLM declares them, with fields that are unknown refused: as lists, or as maps with the name as `type`. */
const TYPES = `
import sys, msgspec
from typing import Any
form = dict(array_like=sys.argv[1] == 'array', forbid_unknown_fields=True)
class BlockStored(msgspec.Struct, tag=True, omit_defaults=True, **form):
    block_hashes: list[bytes | int]
    parent_block_hash: bytes | int | None
    token_ids: list[int]
    block_size: int
    lora_id: int | None
    medium: str | None
    lora_name: str | None = None
    extra_keys: list[tuple[Any, ...] | None] | None = None
class BlockRemoved(msgspec.Struct, tag=True, omit_defaults=True, **form):
    block_hashes: list[bytes | int]
    medium: str | None
class AllBlocksCleared(msgspec.Struct, tag=True, omit_defaults=True, **form):
    pass
class KVEventBatch(msgspec.Struct, omit_defaults=True, **form):
    ts: float
    events: list[BlockStored | BlockRemoved | AllBlocksCleared]
    data_parallel_rank: int | None = None
batch = msgspec.msgpack.decode(sys.stdin.buffer.read(), type=KVEventBatch)
print(msgspec.json.encode([[type(event).__name__, msgspec.structs.asdict(event)] for event in batch.events]).decode())
`;

test(
  'both forms are what a typed reader of such events takes',
  { skip: typed === undefined && 'needs a Python with msgspec' },
  () => {
    const stored = { kind: 'stored', hashes: [7n, 2n ** 64n - 1n], ids: [1, 300] } as const;
    const batch = [
      { ...stored, parent: 5n, lineage: '[[["law",1]],"salt"]' },
      { ...stored, parent: undefined, lineage: undefined },
      { kind: 'removed', hashes: [7n] },
      { kind: 'cleared' },
    ] as const;
    const whole = {
      block_hashes: [7, '2^64 - 1'],
      token_ids: [1, 300],
      block_size: 32,
      lora_id: null,
      medium: 'GPU',
    };
    const read = [
      ['BlockStored', { ...whole, parent_block_hash: 5, lora_name: 'law', extra_keys: [['law'], ['law']] }],
      ['BlockStored', { ...whole, parent_block_hash: null, lora_name: null, extra_keys: null }],
      ['BlockRemoved', { block_hashes: [7], medium: 'GPU' }],
      ['AllBlocksCleared', {}],
    ];
    for (const encoding of ['array', 'map'] as const) {
      const input = blockEventBatch(batch, 1_780_000_000_500, encoding);
      const { stdout, stderr } = spawnSync(typed ?? '', ['-c', TYPES, encoding], { input, encoding: 'utf8' });
      const shown = stdout.replaceAll(String(2n ** 64n - 1n), '"2^64 - 1"');
      assert.deepEqual(JSON.parse(shown || 'null'), read, stderr);
    }
  },
);
