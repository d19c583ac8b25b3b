import { fail, isRocmforgeError, RocmforgeError } from '../../base/errors.ts';
import { packError, type SentError, unpackError } from '../../base/sent-error.ts';
import type { UnsharedBytes } from '../../base/web-types.ts';
import type { ByteChannel } from './byte-channel.ts';
import { Connection, type Expected, unexpected } from './connection.ts';
import { foreignText } from './foreign-text.ts';
import { FRAME, PROTOCOL } from './frame.ts';
import type { ReadFrame } from './frame-reader.ts';
import { checkFacts, type RemoteFacts } from './remote-facts.ts';

/** What both sides have to have in common. */
export interface SharedTerms {
  /** At least `MIN_SECRET` characters. It does not cross; the proofs that both sides know it do. */
  readonly secret: string;
  /** The version of rocmforge. */
  readonly version: string;
  /** Milliseconds after which a silent side is given up, which each side chooses: 1 to `MAX_DEADLINE`. */
  readonly deadline: number;
}

/** Characters of a secret: a shorter one could be guessed from a recorded greeting. */
export const MIN_SECRET = 16;
const MAX_SECRET = 1024;
/** The longest delay of a timer. */
const MAX_DEADLINE = 2 ** 31 - 1;

/** Bytes of the text of a greeting, from whom nobody knows yet. */
const GREETING_BYTES = 16 * 1024;
const NONCE_BYTES = 32;
/** Milliseconds for the first words of either side: nobody knows yet who that is. */
const HELLO_MS = 10_000;
/** Milliseconds for a process to start, and to open its device. */
const OPENING_MS = 120_000;

/** Throws `INVALID_ARGUMENT`, which does not name the secret. */
export function checkSecret(secret: string): void {
  const { length } = secret;
  if (length >= MIN_SECRET && length <= MAX_SECRET) return;
  const expected = `${MIN_SECRET} to ${MAX_SECRET} characters, such as those of \`openssl rand -hex 32\``;
  fail('INVALID_ARGUMENT', { name: 'the secret', found: `${length} characters`, expected });
}

/** A connection whose other side is known. */
export interface Greeted {
  readonly connection: Connection;
  /** What is expected from here on. */
  expect(expected: Expected): void;
  /** Ends the connection because there is no device for it any more, which the other side is told. */
  fail(error: Error): Promise<void>;
}

/** Who connected, as far as that matters. */
export interface Login {
  /** Names what the device is used for: a connection for the same takes the place of one before it. */
  readonly session: string;
}

/**
 * Greets whoever serves a device. Rejects with `REMOTE_REFUSED` for another version or secret, on whichever side that was found, and for
 * which may also say that its device is in use; with `DEVICE_UNAVAILABLE` if it cannot be opened, or what was connected to speaks no such protocol.
 */
export async function greetServer(
  channel: ByteChannel,
  { secret, version, deadline }: SharedTerms,
  { session, isStarting = false }: Login & { readonly isStarting?: boolean },
): Promise<Greeted & { readonly facts: RemoteFacts }> {
  const greeting = new Greeting(channel, (text) => refusalOf(channel.address, text));
  const { connection } = greeting;
  return await greeting.during(async () => {
    const said = await greeting.next(FRAME.hello, isStarting ? OPENING_MS : HELLO_MS);
    const hello = fieldsOf(said, ['nonce', 'version']);
    checkVersions(connection.address, hello, version);
    const theirs = deadlineOf(said);
    const nonce = newNonce();
    const nonces = `${hello.nonce} ${nonce}`;
    const proof = await prove(secret, 'client', nonces);
    const login = { protocol: PROTOCOL, version, deadline, session, nonce, proof };
    connection.send({ kind: FRAME.login, text: login });
    const welcome = await greeting.next(FRAME.welcome, OPENING_MS);
    const { proof: answer } = fieldsOf(welcome, ['proof']);
    if (!(await isProof(secret, 'server', { nonces, proof: answer }))) {
      refuse(connection.address, 'it does not know the secret');
    }
    const facts = checkFacts((welcome.text as { facts?: unknown }).facts);
    return { ...greeting.greeted(deadline, theirs), facts };
  });
}

/**
 * Greets whoever connected to a device that is served; `facts` describes the device once that is known, and may refuse. Rejects as
 * `greetServer`, after the other side was told.
 */
export async function greetClient(
  channel: ByteChannel,
  { secret, version, deadline }: SharedTerms,
  facts: (login: Login) => Promise<RemoteFacts>,
): Promise<Greeted> {
  // Nobody knows yet who that is: what it says is not for this side's operator.
  const refusal = () =>
    new RocmforgeError('REMOTE_REFUSED', {
      address: channel.address,
      why: 'it refused, and says why itself',
    });
  const greeting = new Greeting(channel, refusal);
  const { connection } = greeting;
  return await greeting.during(async () => {
    const own = newNonce();
    connection.send({ kind: FRAME.hello, text: { protocol: PROTOCOL, version, deadline, nonce: own } });
    const said = await greeting.next(FRAME.login, HELLO_MS);
    const login = fieldsOf(said, ['nonce', 'version', 'session', 'proof']);
    checkVersions(connection.address, login, version);
    const theirs = deadlineOf(said);
    const nonces = `${own} ${login.nonce}`;
    if (!(await isProof(secret, 'client', { nonces, proof: login.proof }))) {
      refuse(connection.address, 'the secrets differ');
    }
    const described = await facts({ session: login.session });
    const proof = await prove(secret, 'server', nonces);
    const greeted = greeting.greeted(deadline, theirs);
    connection.send({ kind: FRAME.welcome, text: { proof, facts: described } });
    return greeted;
  });
}

/** The frames of a greeting, which are few and short. */
class Greeting {
  readonly connection: Connection;
  readonly #frames: ReadFrame[] = [];
  #arrived: () => void = () => {};
  #release: () => void = () => {};
  readonly #channel: ByteChannel;
  readonly #refusal: (text: unknown) => Error;

  /** `refusal` is the error for a refusal of the other side, with what that said. */
  constructor(channel: ByteChannel, refusal: (text: unknown) => Error) {
    this.#channel = channel;
    this.#refusal = refusal;
    const expected: Expected = {
      textLimit: () => GREETING_BYTES,
      admit: unexpected,
      // What is behind a frame waits until it is known who sent it.
      take: (frame) => {
        this.#frames.push(frame);
        this.#arrived();
        return new Promise((resolve) => {
          this.#release = resolve;
        });
      },
    };
    this.connection = new Connection(channel, expected);
  }

  /** Ends the connection if the work fails, and tells the other side why. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await Promise.race([work(), this.connection.ended.then((reason) => Promise.reject(reason))]);
    } catch (found) {
      const error = this.#typed(found);
      this.connection.send({ kind: FRAME.refused, text: packError(error) });
      await this.connection.close(error);
      throw error;
    }
  }

  #typed(error: unknown): RocmforgeError {
    const { address } = this.connection;
    if (isRocmforgeError(error, 'DEVICE_LOST')) {
      return new RocmforgeError('DEVICE_UNAVAILABLE', { device: address, why: error.params.why });
    }
    if (error instanceof RocmforgeError) return error;
    const why = error instanceof Error ? error.message : String(error);
    return new RocmforgeError('REMOTE_REFUSED', { address, why }, { cause: error });
  }

  /** The next frame. Rejects if it is another one; the connection ends if there is none within so many milliseconds. */
  async next(kind: number, limit: number): Promise<ReadFrame> {
    this.#release();
    const stop = this.#channel.every(limit, () =>
      this.connection.lose(`it said nothing for ${limit / 1000} s`),
    );
    while (this.#frames.length === 0 && !this.connection.reason) {
      await Promise.race([
        this.connection.ended,
        new Promise<void>((resolve) => {
          this.#arrived = resolve;
        }),
      ]);
    }
    stop();
    if (this.connection.reason) throw this.connection.reason;
    const frame = this.#frames.shift() as ReadFrame;
    if (frame.kind === FRAME.refused) throw this.#refusal(frame.text);
    if (frame.kind !== kind)
      refuse(this.connection.address, `it sent frame ${frame.kind} instead of ${kind}`);
    return frame;
  }

  /** What arrives from here on is no greeting any more. */
  greeted(deadline: number, theirs: number): Greeted {
    const { connection } = this;
    connection.watch(deadline, theirs);
    return {
      connection,
      expect: (expected) => {
        connection.expect(expected);
        this.#release();
      },
      fail: async (error) => {
        connection.send({ kind: FRAME.lost, text: packError(error) });
        await connection.close(error);
      },
    };
  }
}

interface Versions {
  readonly protocol: number;
  readonly version: string;
}

function checkVersions(address: string, found: Versions, version: string): void {
  if (found.protocol === PROTOCOL && found.version === version) return;
  const shown = foreignText(found.version);
  refuse(
    address,
    `it is rocmforge ${shown} with protocol ${found.protocol}, this one ${version} with ${PROTOCOL}`,
  );
}

function refuse(address: string, why: string): never {
  return fail('REMOTE_REFUSED', { address, why });
}

/** The other side's error, as far as it is one that may be expected from it. */
function refusalOf(address: string, text: unknown): Error {
  const isSent = typeof text === 'object' && text !== null && 'code' in text;
  const error = isSent ? unpackSafely(text as SentError) : undefined;
  if (error?.code === 'REMOTE_REFUSED') {
    const { why } = error.params as { why: unknown };
    return new RocmforgeError('REMOTE_REFUSED', { address, why: foreignText(String(why)) });
  }
  const why = foreignText(error?.message ?? 'it gave no reason');
  return new RocmforgeError('DEVICE_UNAVAILABLE', { device: address, why });
}

function unpackSafely(sent: SentError): RocmforgeError | undefined {
  try {
    const error = unpackError(sent);
    return error instanceof RocmforgeError ? error : undefined;
  } catch {
    return undefined;
  }
}

/** The named texts and the protocol of a greeting. Throws for anything else. */
function fieldsOf<Name extends string>(
  { text }: ReadFrame,
  names: readonly Name[],
): Readonly<Record<Name, string>> & { readonly protocol: number } {
  const found = (text ?? {}) as Record<string, unknown>;
  const wrong = names.find((name) => typeof found[name] !== 'string');
  if (wrong !== undefined) throw new RangeError(`the greeting has no ${wrong}`);
  return { ...(found as Record<Name, string>), protocol: Number(found['protocol']) };
}

/** After how many milliseconds of silence the other side gives up. Throws for what is none. */
function deadlineOf({ text }: ReadFrame): number {
  const { deadline } = text as { readonly deadline?: unknown };
  if (typeof deadline === 'number' && deadline >= 1 && deadline <= MAX_DEADLINE) return deadline;
  throw new RangeError(`the greeting has no deadline of 1 to ${MAX_DEADLINE} ms`);
}

function newNonce(): string {
  return hexOf(crypto.getRandomValues(new Uint8Array(NONCE_BYTES)));
}

/** That `who` knows the secret: the HMAC-SHA-256 of both nonces, which are new for each connection. */
async function prove(secret: string, who: string, nonces: string): Promise<string> {
  const signature = await crypto.subtle.sign('HMAC', await keyOf(secret), textOf(who, nonces));
  return hexOf(new Uint8Array(signature));
}

/** Compares in a time that tells nothing. */
async function isProof(
  secret: string,
  who: string,
  { nonces, proof }: { readonly nonces: string; readonly proof: string },
): Promise<boolean> {
  const bytes = Uint8Array.from(proof.match(/[\da-f]{2}/g) ?? [], (pair) => Number.parseInt(pair, 16));
  return crypto.subtle.verify('HMAC', await keyOf(secret), bytes, textOf(who, nonces));
}

function keyOf(secret: string): Promise<CryptoKey> {
  const hash = { name: 'HMAC', hash: 'SHA-256' };
  return crypto.subtle.importKey('raw', encoded(secret), hash, false, ['sign', 'verify']);
}

function textOf(who: string, nonces: string): UnsharedBytes {
  return encoded(`rocmforge ${who} ${nonces}`);
}

function encoded(text: string): UnsharedBytes {
  return new TextEncoder().encode(text) as UnsharedBytes;
}

function hexOf(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
