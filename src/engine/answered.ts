import { type AnswerParser, type AnswerPart, StopMatcher, StreamingDetokenizer } from '../text/index.ts';
import { type ChatChunk, chunkOf } from './chat-stream.ts';
import type { DetokenizedOptions } from './detokenized.ts';
import type { TokenStream } from '../runtime/sequence.ts';
import type { TextSource } from './text-stream.ts';

/** How tokens are parsed into the parts of an answer. */
export interface AnsweredOptions extends DetokenizedOptions {
  readonly parser: AnswerParser;
}

/**
 * Parses tokens into the parts of an answer. Control tokens, which have no text, reach the parser by name. Text that
 * may become a stop string is held back, and the tokens end at the first stop string.
 */
export function answered(tokens: TokenStream, of: AnsweredOptions): TextSource<ChatChunk> {
  return async function* (complete) {
    const pieces = new Pieces(of);
    try {
      let next = await tokens.next();
      while (!next.done) {
        yield chunkOf(pieces.push(next.value.id), next.value);
        next = await tokens.next(pieces.stop !== undefined);
      }
      const rest = pieces.end(next.value.reason === 'length');
      if (rest.length > 0) yield chunkOf(rest, undefined);
      complete({ ...next.value, stop: pieces.stop });
    } finally {
      await tokens.return(undefined as never);
    }
  };
}

class Pieces {
  readonly #of: AnsweredOptions;
  readonly #detokenizer: StreamingDetokenizer;
  readonly #matcher: StopMatcher;
  readonly #decoder = new TextDecoder();
  #count = 0;
  /** The stop string that ended the text. */
  stop: string | undefined;

  constructor(of: AnsweredOptions) {
    this.#of = of;
    this.#matcher = new StopMatcher(of.stop.strings, of.stop);
    this.#detokenizer = new StreamingDetokenizer(of.tokenizer, {
      special: of.special,
      keepLeadingSpace: of.continues,
    });
  }

  push(id: number): AnswerPart[] {
    this.#count++;
    const { parser, tokenizer, special } = this.#of;
    if (special || !tokenizer.isControl(id)) return parser.push(this.#text(this.#detokenizer.push(id)));
    const before = this.#text(this.#detokenizer.flush());
    if (this.stop !== undefined) return parser.push(before);
    // A stop string cannot continue across a control token.
    const held = this.#matcher.flush();
    const name = this.#decoder.decode(tokenizer.tokenBytes(id));
    return [...parser.push(before + held), ...parser.push(name, true)];
  }

  end(isCut: boolean): AnswerPart[] {
    const { parser } = this.#of;
    const text = this.#text(this.#detokenizer.flush());
    const held = this.stop === undefined ? this.#matcher.flush() : '';
    return [...parser.push(text + held), ...parser.end(isCut)];
  }

  /** The part of a piece before a stop string. */
  #text(piece: string): string {
    if (this.#count < this.#of.stop.from) return piece;
    const { text, stop } = this.#matcher.push(piece);
    this.stop ??= stop;
    return text;
  }
}
