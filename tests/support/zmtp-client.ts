import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

const GREETING = Buffer.concat([
  Buffer.from('ff00000000000000007f0300', 'hex'),
  Buffer.from('NULL'.padEnd(20, '\0')),
  Buffer.alloc(32),
]);

const PONG = Buffer.from('\x04PONG', 'latin1');

/** A ZeroMQ socket with one connection, written from RFC 23 (ZMTP 3.0) for tests of the server's. */
export class ZmtpClient implements Disposable {
  readonly socket: Socket;
  #bytes: Buffer = Buffer.alloc(0);
  readonly #messages: Buffer[][] = [];
  #wake: () => void = () => {};
  #answered: () => void = () => {};

  private constructor(socket: Socket) {
    this.socket = socket;
  }

  /** Connects to `tcp://HOST:PORT` as a socket of a type, and shakes hands. */
  static async connect(endpoint: string, type: 'SUB' | 'DEALER' | 'REQ'): Promise<ZmtpClient> {
    const { hostname, port } = new URL(endpoint.replace('tcp:', 'http:'));
    const socket = connect(Number(port), hostname.replace(/^\[|\]$/g, '').replace(/^::$/, '::1'));
    await once(socket, 'connect');
    const client = new ZmtpClient(socket);
    const ready = Buffer.concat([
      Buffer.from(`\x05READY\x0bSocket-Type\0\0\0${String.fromCharCode(type.length)}${type}`, 'latin1'),
    ]);
    socket.write(Buffer.concat([GREETING, Buffer.from([4, ready.length]), ready]));
    let frames: Buffer[] = [];
    let isGreeted = false;
    socket.on('data', (bytes: Buffer) => {
      client.#bytes = Buffer.concat([client.#bytes, bytes]);
      if (!isGreeted && client.#bytes.length >= 64) {
        assert.deepEqual(client.#bytes.subarray(0, 32), GREETING.subarray(0, 32));
        client.#bytes = client.#bytes.subarray(64);
        isGreeted = true;
      }
      for (let frame = isGreeted && client.#frame(); frame; frame = client.#frame()) {
        if (frame.flags & 4) {
          if (frame.body.subarray(0, 5).equals(PONG)) client.#answered();
          continue;
        }
        frames.push(frame.body);
        if (frame.flags & 1) continue;
        client.#messages.push(frames);
        frames = [];
        client.#wake();
      }
    });
    return client;
  }

  /** Sends a message of short frames. */
  send(frames: readonly Uint8Array[]): void {
    for (const [index, frame] of frames.entries()) {
      this.socket.write(Buffer.from([index < frames.length - 1 ? 1 : 0, frame.length]));
      this.socket.write(frame);
    }
  }

  /** Resolves when the peer has read all that was sent, and what it sent before has come. */
  async ping(): Promise<void> {
    const answered = new Promise<void>((resolve) => {
      this.#answered = resolve;
    });
    this.socket.write(Buffer.from('\x04\x09\x04PING\0\0xy', 'latin1'));
    await answered;
  }

  /** The messages that have come and were not received. */
  get received(): number {
    return this.#messages.length;
  }

  /** The frames of the next message. */
  async receive(): Promise<readonly Buffer[]> {
    for (;;) {
      const message = this.#messages.shift();
      if (message) return message;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  [Symbol.dispose](): void {
    this.socket.destroy();
  }

  #frame(): { flags: number; body: Buffer } | undefined {
    const bytes = this.#bytes;
    const start = ((bytes[0] ?? 0) & 2) === 0 ? 2 : 9;
    if (bytes.length < start) return undefined;
    const end = start + (start === 9 ? Number(bytes.readBigUInt64BE(1)) : (bytes[1] as number));
    if (bytes.length < end) return undefined;
    this.#bytes = bytes.subarray(end);
    return { flags: bytes[0] as number, body: bytes.subarray(start, end) };
  }
}
