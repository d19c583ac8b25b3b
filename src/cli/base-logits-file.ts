import { type FileHandle, open } from 'node:fs/promises';
import { fail } from '../base/errors.ts';
import {
  type BaseHeader,
  decodeChunks,
  decodeFixed,
  decodeRow,
  encodeHeader,
  encodeRow,
  FIXED_BYTES,
  rowBytes,
} from '../evaluate/base-logits.ts';
import type { Evaluate } from '../evaluate/perplexity.ts';
import { createSink, type OwnedSink } from '../node/write-whole.ts';

/** Keeps what a model predicts in a file, in llama.cpp's format, while it is judged. */
export class BaseLogitsKeeper implements AsyncDisposable {
  readonly #path: string;
  readonly #of: Pick<BaseHeader, 'context' | 'chunks'>;
  readonly #signal: AbortSignal;
  #sink: OwnedSink | undefined;

  constructor(path: string, of: Pick<BaseHeader, 'context' | 'chunks'>, signal: AbortSignal) {
    this.#path = path;
    this.#of = of;
    this.#signal = signal;
  }

  /** The same logits, each position of which is written. Rejects with `WRITE_FAILED`. */
  kept(evaluate: Evaluate): Evaluate {
    const keep = (logits: Float32Array) => this.#keep(logits);
    return async function* (ids, from) {
      for await (const position of evaluate(ids, from)) {
        await keep(position.logits);
        yield position;
      }
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#sink?.dispose();
  }

  async #keep(logits: Float32Array): Promise<void> {
    if (!this.#sink) {
      this.#sink = await createSink(this.#path, this.#signal);
      await this.#sink.write(encodeHeader({ ...this.#of, vocabulary: logits.length }));
    }
    await this.#sink.write(encodeRow(logits));
  }
}

/** Reads a base model's log probabilities in the order in which they were written. */
export class BaseLogitsReader implements AsyncDisposable {
  readonly #path: string;
  readonly #file: FileHandle;
  readonly header: BaseHeader;

  private constructor(path: string, file: FileHandle, header: BaseHeader) {
    this.#path = path;
    this.#file = file;
    this.header = header;
  }

  /** Opens a file. Rejects with `SOURCE_UNAVAILABLE`, and with `INVALID_ARGUMENT` for another kind of file. */
  static async open(path: string): Promise<BaseLogitsReader> {
    const file = await open(path, 'r').catch((error: unknown) => unavailable(path, reasonOf(error), error));
    try {
      const fixed = decodeFixed(await read(file, FIXED_BYTES, path));
      if (!fixed) {
        const expected = 'what perplexity --kl-divergence-base has written';
        return fail('INVALID_ARGUMENT', { name: path, found: 'something else', expected });
      }
      const { context, vocabulary, count } = fixed;
      const { size } = await file.stat();
      const needed = FIXED_BYTES + 4 * context * count + count * scoredIn(context) * rowBytes(vocabulary);
      if (size < needed)
        unavailable(path, `it has ${size} bytes of ${needed}: it was not written to its end`);
      const chunks = decodeChunks(await read(file, 4 * context * count, path), context);
      return new BaseLogitsReader(path, file, { context, vocabulary, chunks });
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  /** The log probabilities of the next position. */
  async next(): Promise<Float32Array> {
    const { vocabulary } = this.header;
    return decodeRow(await read(this.#file, rowBytes(vocabulary), this.#path), vocabulary);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file.close();
  }
}

/** The positions of a chunk whose next token is predicted. */
function scoredIn(context: number): number {
  return context - 1 - (context >> 1);
}

async function read(file: FileHandle, length: number, path: string): Promise<Uint8Array> {
  const { bytesRead, buffer } = await file.read(new Uint8Array(length), 0, length);
  if (bytesRead < length) unavailable(path, 'it ends too early');
  return buffer;
}

function unavailable(source: string, reason: string, cause?: unknown): never {
  return fail('SOURCE_UNAVAILABLE', { source, reason }, cause);
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
