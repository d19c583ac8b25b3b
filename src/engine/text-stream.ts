import { invariant } from '../base/errors.ts';
import { StopMatcher, StreamingDetokenizer, type Tokenizer } from '../text/index.ts';
import type { TokenStream } from './engine.ts';
import type { GenerationEnd } from './sequence.ts';
import type { SampledToken } from './sampled-token.ts';

/** A piece of generated text, never a part of a character. Empty while a character or a stop string is incomplete. */
export interface TextChunk {
  readonly text: string;
  /** The token behind this piece; undefined for what was held back until the end. */
  readonly token: SampledToken | undefined;
}

/** How a text ended: `stop` by the model or a stop string, `length` by the limit or the context. */
export interface TextEnd extends GenerationEnd {
  /** The stop string that was found. */
  readonly stop: string | undefined;
}

/** How tokens become text. */
export interface TextStreamOptions {
  readonly tokenizer: Tokenizer;
  /** Strings that end the text. */
  readonly stop: readonly string[];
  /** Control tokens come out by name. */
  readonly special: boolean;
  /** The text goes on after a prompt, so that a space before its first word belongs to it. */
  readonly continues: boolean;
}

/**
 * Text as it is generated. Iterate it once for chunks, or await `text()` for all of it; nothing runs before. Leaving the
 * iteration early stops the generation. `end` is there when the text is complete.
 */
export class TextStream implements AsyncIterable<TextChunk> {
  readonly #chunks: AsyncGenerator<TextChunk, void>;
  #end: TextEnd | undefined;

  constructor(tokens: TokenStream, of: TextStreamOptions) {
    this.#chunks = this.#run(tokens, of);
  }

  [Symbol.asyncIterator](): AsyncGenerator<TextChunk, void> {
    return this.#chunks;
  }

  /** The whole text. */
  async text(): Promise<string> {
    let text = '';
    for await (const chunk of this) text += chunk.text;
    return text;
  }

  /** Why the text ended and what it took; throws while it has not. */
  get end(): TextEnd {
    invariant(this.#end, 'a text stream is read to its end before its end is asked for');
    return this.#end;
  }

  async *#run(tokens: TokenStream, of: TextStreamOptions): AsyncGenerator<TextChunk, void> {
    const detokenizer = new StreamingDetokenizer(of.tokenizer, {
      special: of.special,
      keepLeadingSpace: of.continues,
    });
    const matcher = new StopMatcher(of.stop);
    let found: string | undefined;
    try {
      let next = await tokens.next();
      while (!next.done) {
        const { text, stop } = matcher.push(detokenizer.push(next.value.id));
        found ??= stop;
        yield { text, token: next.value };
        next = await tokens.next(found !== undefined);
      }
      const { text, stop } = matcher.push(detokenizer.flush());
      found ??= stop;
      const rest = text + (found === undefined ? matcher.flush() : '');
      if (rest !== '') yield { text: rest, token: undefined };
      this.#end = { ...next.value, stop: found };
    } finally {
      await tokens.return(undefined as never);
    }
  }
}
