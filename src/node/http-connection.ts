import type { IncomingMessage, ServerResponse } from 'node:http';
import type { HttpBindings } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { Connection, TextBody } from '../server/index.ts';

/** The chunk that ends a body, and no trailers. */
const LAST_CHUNK = '0\r\n\r\n';

/**
 * The bodies of a request and its response, without streams of the Fetch API between them and the socket: those cost a
 * dozen promises for each piece, and the adapter waits a millisecond for more pieces before it sends the first.
 */
export class HttpConnection implements Connection {
  readonly #incoming: IncomingMessage;
  readonly #outgoing: ServerResponse;
  #sent: TextBody | undefined;
  #isChunked = false;
  /** Continues to send, once there is room. */
  #wake = () => {};

  constructor({ incoming, outgoing }: HttpBindings) {
    this.#incoming = incoming as IncomingMessage;
    this.#outgoing = outgoing as ServerResponse;
  }

  /** The bytes of the request's body. The connection stays open when they are not all read. Rejects if the client leaves. */
  get body(): AsyncIterable<Uint8Array> {
    return bytesOf(this.#incoming);
  }

  onGone(listener: () => void): void {
    const outgoing = this.#outgoing;
    if (outgoing.destroyed && !outgoing.writableFinished) return listener();
    outgoing.once('close', () => {
      if (!outgoing.writableFinished) listener();
    });
  }

  send(body: TextBody): void {
    this.#sent = body;
  }

  /** The response for the adapter to the Fetch API: one that says so where this connection sends the body itself. */
  answer(response: Response): Response {
    const body = this.#sent;
    if (!body) return response;
    this.#begin(body, response);
    return RESPONSE_ALREADY_SENT;
  }

  #begin(body: TextBody, { status, headers }: Response): void {
    const outgoing = this.#outgoing;
    const leave = () => {
      this.#wake();
      if (!outgoing.writableFinished) body.leave().catch(() => {});
    };
    if (outgoing.destroyed) return leave();
    outgoing.once('close', leave);
    outgoing.on('error', leave);
    outgoing.on('drain', () => this.#wake());
    outgoing.writeHead(status, Object.fromEntries(headers));
    // Node writes a chunk as four pieces, one after another; as one text it costs half.
    this.#isChunked = outgoing.chunkedEncoding;
    outgoing.chunkedEncoding = false;
    body.keepAlive((text) => {
      if (outgoing.destroyed || outgoing.writableNeedDrain) return false;
      this.#write(text);
      return true;
    });
    this.#pump(body).catch((error: Error) => outgoing.destroy(error));
  }

  async #pump(body: TextBody): Promise<void> {
    const outgoing = this.#outgoing;
    let isWaiting = true;
    // The head goes with the first piece, unless that is yet to come.
    process.nextTick(() => {
      if (isWaiting && !outgoing.destroyed) outgoing.flushHeaders();
    });
    for (;;) {
      const text = await body.next();
      isWaiting = false;
      if (text === undefined || outgoing.destroyed) break;
      if (this.#write(text)) continue;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    if (!outgoing.destroyed) outgoing.end(this.#isChunked ? LAST_CHUNK : '');
  }

  /** Writes a piece of the body, as a chunk where the client reads chunks (RFC 9112, section 7.1); false: there is no more room. */
  #write(text: string): boolean {
    if (!this.#isChunked) return this.#outgoing.write(text);
    return this.#outgoing.write(`${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`);
  }
}

/**
 * The bytes that come in. Node's own iterator of a stream watches it by a dozen listeners, which cost more than a body of usual
 * size.
 */
async function* bytesOf(incoming: IncomingMessage): AsyncGenerator<Uint8Array, void> {
  let wake = () => {};
  const onNews = () => wake();
  incoming.on('readable', onNews).on('end', onNews).on('close', onNews).on('error', onNews);
  try {
    for (;;) {
      const news = new Promise<void>((resolve) => {
        wake = resolve;
      });
      const bytes = incoming.read() as Buffer | null;
      if (bytes) yield bytes;
      else if (incoming.readableEnded) return;
      else if (incoming.errored) throw incoming.errored;
      else if (incoming.destroyed) throw new Error('the client has left');
      else await news;
    }
  } finally {
    incoming.off('readable', onNews).off('end', onNews).off('close', onNews).off('error', onNews);
  }
}
