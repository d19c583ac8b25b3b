import { fail } from '../base/errors.ts';
import type { SampledToken } from '../runtime/jobs/sampled-token.ts';
import type { GenerationEnd } from '../runtime/sequence.ts';

/**
 * A piece of generated text, made of whole characters. Empty while a character or a possible stop string is incomplete.
 */
export interface TextChunk {
  readonly text: string;
  /** The token of this piece; undefined for text that was held back until the end. */
  readonly token: SampledToken | undefined;
}

/** How a text ended: `stop` by the model or a stop string, `length` by a limit or the context. */
export interface TextEnd extends GenerationEnd {
  /** The stop string that ended the text. */
  readonly stop: string | undefined;
}

/** Generates a text's chunks on demand, and tells `complete` how it ended. */
export type TextSource<C extends TextChunk = TextChunk> = (
  complete: (end: TextEnd) => void,
) => AsyncGenerator<C, void>;

/**
 * Text as it is generated. Iterate it once for chunks, or await `text()` for all of it; nothing runs before. Leaving
 * the iteration early stops the generation. `end` is available when the text is complete.
 */
export class TextStream<C extends TextChunk = TextChunk, T = unknown> implements AsyncIterable<C> {
  readonly #chunks: AsyncGenerator<C, void>;
  readonly #read: (value: unknown) => T | Promise<T>;
  #isTaken = false;
  #end: TextEnd | undefined;
  #whole: Promise<string> | undefined;

  /** `read` gives the JSON value of the text its type. */
  constructor(source: TextSource<C>, read: (value: unknown) => T | Promise<T> = (value) => value as T) {
    this.#read = read;
    this.#chunks = source((end) => {
      this.#end = end;
    });
  }

  /** Throws `STREAM_READ` the second time. */
  [Symbol.asyncIterator](): AsyncGenerator<C, void> {
    if (this.#isTaken) fail('STREAM_READ', {});
    this.#isTaken = true;
    return this.#chunks;
  }

  /** The whole text; may be called repeatedly. Rejects with `STREAM_READ` if the chunks are or were iterated. */
  text(): Promise<string> {
    this.#whole ??= this.gather();
    return this.#whole;
  }

  /**
   * The whole text parsed as JSON, as `schema` or `json` constrain it, with the schema's type; may be called repeatedly. Rejects
   * with `TEXT_NOT_JSON`, usually because the text was cut off, with `VALUE_INVALID` where a typed schema's own checks refuse the
   * value, or as `text`.
   */
  async json<U = T>(): Promise<U> {
    const text = await this.text();
    const { reason } = this.end;
    const fault = (error: unknown) => fail('TEXT_NOT_JSON', { reason, end: text.slice(-40) }, error);
    return (await this.#read(parsed(text, fault))) as U;
  }

  /** @internal */
  protected async gather(): Promise<string> {
    let text = '';
    for await (const chunk of this) text += chunk.text;
    return text;
  }

  /** Why the text ended, and its token counts; throws before it has ended. */
  get end(): TextEnd {
    if (this.#end) return this.#end;
    const found = 'a text that has not ended';
    return fail('INVALID_ARGUMENT', { name: 'end', found, expected: 'one that was read to its end' });
  }
}

function parsed(text: string, fault: (error: unknown) => never): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    return fault(error);
  }
}
