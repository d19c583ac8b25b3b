import type { Socket } from 'node:net';

/** Bytes of a greeting: signature, version, mechanism, role, filler. */
const GREETING_BYTES = 64;
const MECHANISM = 'NULL';
/** Flags of a frame. */
const [MORE, LONG, COMMAND] = [1, 2, 4];
/** Peers only send subscriptions and sequence numbers: whoever sends more is none of ours. */
const MAX_FRAME_BYTES = 64 * 1024;
const MAX_FRAMES = 16;
/** Milliseconds in which a peer has to introduce itself. */
const HANDSHAKE_MS = 10_000;

/** What a peer does. */
export interface ZmtpEvents {
  /** It has introduced itself as a socket of a type that is accepted. */
  readonly ready?: () => void;
  readonly message: (frames: readonly Buffer[]) => void;
  /** A command besides the handshake's: SUBSCRIBE and CANCEL. */
  readonly command?: (name: string, body: Buffer) => void;
}

/** How a socket introduces itself, and which types of sockets it talks to. */
export interface ZmtpRole {
  readonly type: 'PUB' | 'ROUTER' | 'SUB' | 'DEALER';
  readonly accepts: readonly string[];
}

/**
 * One connection of a ZeroMQ socket: ZMTP 3.0 (ZeroMQ RFC 23) with the NULL mechanism, which has neither keys nor encryption. A peer
 * that does not follow the protocol is disconnected.
 */
export class ZmtpPeer {
  readonly #socket: Socket;
  readonly #role: ZmtpRole;
  readonly #events: ZmtpEvents;
  #received: Buffer = Buffer.alloc(0);
  #isGreeted = false;
  #isReady = false;
  #frames: Buffer[] = [];

  constructor(socket: Socket, role: ZmtpRole, events: ZmtpEvents) {
    this.#socket = socket;
    this.#role = role;
    this.#events = events;
    socket.setNoDelay(true);
    socket.setTimeout(HANDSHAKE_MS, () => socket.destroy());
    socket.on('error', () => socket.destroy());
    socket.on('data', (bytes) => this.#take(bytes));
    socket.write(greeting());
  }

  /** Bytes that wait for the peer to read them. */
  get waitingBytes(): number {
    return this.#socket.writableLength;
  }

  /** Sends a message of several frames. */
  send(frames: readonly Uint8Array[]): void {
    this.#socket.cork();
    for (const [index, frame] of frames.entries()) this.#write(index < frames.length - 1 ? MORE : 0, frame);
    this.#socket.uncork();
  }

  #write(flags: number, body: Uint8Array): void {
    const isLong = body.length > 255;
    const head = Buffer.alloc(isLong ? 9 : 2);
    head[0] = flags | (isLong ? LONG : 0);
    if (isLong) head.writeBigUInt64BE(BigInt(body.length), 1);
    else head[1] = body.length;
    this.#socket.write(head);
    this.#socket.write(body);
  }

  #take(bytes: Buffer): void {
    this.#received = this.#received.length > 0 ? Buffer.concat([this.#received, bytes]) : bytes;
    while (!this.#socket.destroyed && this.#next());
  }

  /** Reads what comes next if all of it is there. */
  #next(): boolean {
    const bytes = this.#received;
    if (!this.#isGreeted) {
      if (bytes.length < GREETING_BYTES) return false;
      this.#received = bytes.subarray(GREETING_BYTES);
      this.#isGreeted = true;
      if (!isGreeting(bytes)) this.#refuse();
      else this.#write(COMMAND, command('READY', property('Socket-Type', this.#role.type)));
      return true;
    }
    const frame = frameOf(bytes);
    if (frame === 'invalid') this.#refuse();
    if (typeof frame !== 'object') return false;
    this.#received = bytes.subarray(frame.end);
    if (frame.isCommand) this.#command(frame.body);
    else if (!this.#isReady) this.#refuse();
    else this.#frame(frame.body, frame.hasMore);
    return true;
  }

  #frame(body: Buffer, hasMore: boolean): void {
    this.#frames.push(body);
    if (this.#frames.length > MAX_FRAMES) return this.#refuse();
    if (hasMore) return;
    const frames = this.#frames;
    this.#frames = [];
    this.#events.message(frames);
  }

  #command(bytes: Buffer): void {
    const end = 1 + (bytes[0] ?? 0);
    const name = bytes.toString('latin1', 1, end);
    const body = bytes.subarray(end);
    if (name === 'READY' && !this.#isReady) {
      if (!this.#role.accepts.includes(propertiesOf(body).get('socket-type') ?? '')) return this.#refuse();
      this.#isReady = true;
      this.#socket.setTimeout(0);
      this.#events.ready?.();
    } else if (!this.#isReady) this.#refuse();
    // A time to live precedes what is to be returned (ZMTP 3.1).
    else if (name === 'PING') this.#write(COMMAND, command('PONG', body.subarray(2)));
    else this.#events.command?.(name, body);
  }

  #refuse(): void {
    this.#socket.destroy();
  }
}

function greeting(): Buffer {
  const bytes = Buffer.alloc(GREETING_BYTES);
  bytes[0] = 0xff;
  bytes[9] = 0x7f;
  bytes[10] = 3;
  bytes.write(MECHANISM, 12, 'latin1');
  return bytes;
}

function isGreeting(bytes: Buffer): boolean {
  const mechanism = bytes.toString('latin1', 12, 32).replace(/\0+$/, '');
  return bytes[0] === 0xff && bytes[9] === 0x7f && (bytes[10] ?? 0) >= 3 && mechanism === MECHANISM;
}

/** The frame at the beginning of `bytes`; undefined if it is not complete. */
function frameOf(
  bytes: Buffer,
): { body: Buffer; end: number; hasMore: boolean; isCommand: boolean } | undefined | 'invalid' {
  const flags = bytes[0] ?? 0;
  const start = flags & LONG ? 9 : 2;
  if (bytes.length < start) return undefined;
  const length = flags & LONG ? Number(bytes.readBigUInt64BE(1)) : (bytes[1] as number);
  if (length > MAX_FRAME_BYTES || flags > 7) return 'invalid';
  const end = start + length;
  if (bytes.length < end) return undefined;
  return {
    body: bytes.subarray(start, end),
    end,
    hasMore: (flags & MORE) !== 0,
    isCommand: (flags & COMMAND) !== 0,
  };
}

function command(name: string, body: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from([name.length]), Buffer.from(name, 'latin1'), body]);
}

function property(name: string, value: string): Buffer {
  const bytes = Buffer.alloc(1 + name.length + 4 + value.length);
  bytes[0] = name.length;
  bytes.write(name, 1, 'latin1');
  bytes.writeUInt32BE(value.length, 1 + name.length);
  bytes.write(value, 5 + name.length, 'latin1');
  return bytes;
}

/** The properties of a READY command; names are in lower case. */
function propertiesOf(bytes: Buffer): Map<string, string> {
  const found = new Map<string, string>();
  for (let at = 0; at < bytes.length;) {
    const value = at + 1 + (bytes[at] as number) + 4;
    if (value > bytes.length) break;
    const end = value + bytes.readUInt32BE(value - 4);
    const name = bytes.toString('latin1', at + 1, value - 4).toLowerCase();
    found.set(name, bytes.toString('latin1', value, end));
    at = end;
  }
  return found;
}
