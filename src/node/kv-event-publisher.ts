import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { fail } from '../base/errors.ts';
import { blockEventBatch, type KvEventEncoding } from './block-event-batch.ts';
import type { BlockEvent } from '../state/held-blocks.ts';
import { ZmtpPeer, type ZmtpRole } from './zmtp-peer.ts';

/** Batches and bytes of them that are kept for replay. */
const DEFAULT_BUFFER = 10_000;
const MAX_BUFFER_BYTES = 64 * 2 ** 20;
/** Bytes that wait for a slow subscriber before it misses batches, and for a reader of a replay before that pauses. */
const MAX_WAITING_BYTES = 16 * 2 ** 20;
const REPLAY_WAITING_BYTES = 2 ** 20;
const MAX_CONNECTIONS = 256;
const MAX_TOPICS = 64;
/** Replays that a peer may have asked for at once. */
const MAX_REPLAYS = 8;

const PUBLISHER: ZmtpRole = { type: 'PUB', accepts: ['SUB', 'XSUB'] };
const REPLAYER: ZmtpRole = { type: 'ROUTER', accepts: ['REQ', 'DEALER', 'ROUTER'] };

/** The sequence number of the message that ends a replay: -1. */
const END = Buffer.alloc(8, 0xff);
const EMPTY = Buffer.alloc(0);

/** Where and how events are published; by vLLM's names in its `kv_events_config`. */
export interface KvEventOptions {
  /** The PUB socket's address: `tcp://*:5557`. */
  readonly endpoint: string;
  /** The ROUTER socket's, for replays. Default: none. */
  readonly replayEndpoint?: string | undefined;
  /** The first frame of each message. Default: empty. */
  readonly topic?: string | undefined;
  /** Batches that are kept for replays. Default 10 000. */
  readonly bufferSteps?: number | undefined;
  /** Whether batches and events are lists or maps. Default: lists. */
  readonly encoding?: KvEventEncoding | undefined;
}

/**
 * Publishes which prefixes a model's cache holds, as vLLM does for routers that send requests to where their prefix is (llm-d, Dynamo): a
 * ZeroMQ PUB socket with messages of topic, sequence number (8 bytes, big-endian, from 0) and batch, and a ROUTER socket that answers
 * a sequence number with `[sequence number, batch]` for each that is still there from it on, and with -1 at the end. A subscriber that does not
 * read misses batches, which it sees by their numbers.
 */
export class KvEventPublisher implements AsyncDisposable {
  readonly #topic: Buffer;
  readonly #bufferSteps: number;
  readonly #encoding: KvEventEncoding | undefined;
  readonly #buffer: { readonly number: Buffer; readonly batch: Uint8Array }[] = [];
  readonly #subscribers = new Map<ZmtpPeer, string[]>();
  readonly #servers: Server[] = [];
  readonly #sockets = new Set<Socket>();
  #bufferBytes = 0;
  #next = 0n;

  private constructor({ topic = '', bufferSteps = DEFAULT_BUFFER, encoding }: KvEventOptions) {
    this.#topic = Buffer.from(topic);
    this.#bufferSteps = bufferSteps;
    this.#encoding = encoding;
  }

  /** Rejects with `INVALID_ARGUMENT` for an address that is none, and with `ADDRESS_IN_USE`, leaving nothing open. */
  static async open(options: KvEventOptions): Promise<KvEventPublisher> {
    const publisher = new KvEventPublisher(options);
    try {
      await publisher.#listen(options.endpoint, (socket) => publisher.#subscribe(socket));
      const { replayEndpoint } = options;
      if (replayEndpoint !== undefined)
        await publisher.#listen(replayEndpoint, (socket) => publisher.#serve(socket));
      return publisher;
    } catch (error) {
      await publisher[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** The addresses of the PUB socket and of the ROUTER socket, if there is one. */
  get endpoints(): readonly string[] {
    return this.#servers.map((server) => {
      const { address, family, port } = server.address() as AddressInfo;
      return `tcp://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
    });
  }

  /** Sends events to all subscribers. */
  readonly publish = (events: readonly BlockEvent[]): void => {
    const batch = blockEventBatch(events, Date.now(), this.#encoding);
    const number = Buffer.alloc(8);
    number.writeBigUInt64BE(this.#next++);
    this.#buffer.push({ number, batch });
    this.#bufferBytes += batch.length;
    while (this.#buffer.length > this.#bufferSteps || this.#bufferBytes > MAX_BUFFER_BYTES) {
      this.#bufferBytes -= this.#buffer.shift()?.batch.length ?? 0;
    }
    const topic = this.#topic.toString('latin1');
    for (const [peer, topics] of this.#subscribers) {
      const isWanted = topics.some((prefix) => topic.startsWith(prefix));
      if (isWanted && peer.waitingBytes < MAX_WAITING_BYTES) peer.send([this.#topic, number, batch]);
    }
  };

  /** Ends all connections. */
  async [Symbol.asyncDispose](): Promise<void> {
    const closed = this.#servers.map((server) => once(server, 'close'));
    for (const server of this.#servers) server.close();
    for (const socket of this.#sockets) socket.destroy();
    await Promise.all(closed);
  }

  async #listen(endpoint: string, take: (socket: Socket) => void): Promise<void> {
    const { host, port } = addressOf(endpoint);
    const server = createServer((socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
      take(socket);
    });
    server.maxConnections = MAX_CONNECTIONS;
    server.listen(port, host);
    try {
      await once(server, 'listening');
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      fail('ADDRESS_IN_USE', { address: endpoint, reason }, error);
    }
    this.#servers.push(server);
  }

  /** A subscription is a message of 1 and the topic's beginning, or a command (ZMTP 3.1); 0 ends it. */
  #subscribe(socket: Socket): void {
    const topics: string[] = [];
    const change = (isAdded: boolean, topic: Buffer) => {
      const prefix = topic.toString('latin1');
      if (isAdded) topics.push(prefix);
      else if (topics.includes(prefix)) topics.splice(topics.indexOf(prefix), 1);
      if (topics.length > MAX_TOPICS) socket.destroy();
    };
    const peer = new ZmtpPeer(socket, PUBLISHER, {
      ready: () => this.#subscribers.set(peer, topics),
      message: ([frame = EMPTY]) => {
        if (frame[0] === 1 || frame[0] === 0) change(frame[0] === 1, frame.subarray(1));
      },
      command: (name, topic) => {
        if (name === 'SUBSCRIBE' || name === 'CANCEL') change(name === 'SUBSCRIBE', topic);
      },
    });
    socket.once('close', () => this.#subscribers.delete(peer));
  }

  /** Requests of one peer are answered one after another; whoever does not wait for the answers is disconnected. */
  #serve(socket: Socket): void {
    let answered = Promise.resolve();
    let waiting = 0;
    const peer = new ZmtpPeer(socket, REPLAYER, {
      message: (frames) => {
        const number = frames.at(-1) ?? EMPTY;
        if (number.length !== 8 || ++waiting > MAX_REPLAYS) return void socket.destroy();
        answered = answered.then(async () => {
          await this.#replay(socket, peer, { number, envelope: frames.slice(0, -1) });
          waiting--;
        });
      },
    });
  }

  async #replay(
    socket: Socket,
    peer: ZmtpPeer,
    { number, envelope }: { number: Buffer; envelope: readonly Buffer[] },
  ): Promise<void> {
    for (const { number: found, batch } of [...this.#buffer]) {
      if (found.compare(number) < 0) continue;
      if (peer.waitingBytes > REPLAY_WAITING_BYTES) await drained(socket);
      if (socket.destroyed) return;
      peer.send([...envelope, found, batch]);
    }
    peer.send([...envelope, END, EMPTY]);
  }
}

/** Resolves when a socket has sent what it had, or is closed. */
function drained(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      socket.off('drain', done).off('close', done);
      resolve();
    };
    if (socket.destroyed) resolve();
    else socket.once('drain', done).once('close', done);
  });
}

/** The host, or all of them for `*`, and the port of an address. Throws `INVALID_ARGUMENT`. */
function addressOf(endpoint: string): { host: string | undefined; port: number } {
  const [, host, port] = /^tcp:\/\/(\*|\[[\da-f:.]+\]|[\w.-]+):(\d{1,5})$/i.exec(endpoint) ?? [];
  if (host === undefined || Number(port) > 65_535) {
    const expected = 'tcp://HOST:PORT, with * for all addresses of this machine';
    fail('INVALID_ARGUMENT', { name: 'an endpoint of KV events', found: endpoint, expected });
  }
  return { host: host === '*' ? undefined : host.replace(/^\[|\]$/g, ''), port: Number(port) };
}
