import { StopMatcher, type StopResult, StreamingDetokenizer, type Tokenizer } from '../text/index.ts';
import type { TokenStream } from '../runtime/sequence.ts';
import type { TextSource } from './text-stream.ts';

/** How tokens are decoded to text. */
export interface DetokenizedOptions {
  readonly tokenizer: Tokenizer;
  /** Strings that end the text after a minimum number of tokens, and whether the matched one is included. */
  readonly stop: { readonly strings: readonly string[]; readonly isIncluded: boolean; readonly from: number };
  /** Whether control tokens are written as their names. */
  readonly special: boolean;
  /** The text continues a prompt, so a space before its first word belongs to it. */
  readonly continues: boolean;
}

/**
 * Decodes tokens to text. Text that may become a stop string is held back, and the tokens end at the first stop string.
 */
export function detokenized(tokens: TokenStream, of: DetokenizedOptions): TextSource {
  return async function* (complete) {
    const detokenizer = new StreamingDetokenizer(of.tokenizer, {
      special: of.special,
      keepLeadingSpace: of.continues,
    });
    const matcher = new StopMatcher(of.stop.strings, of.stop);
    let found: string | undefined;
    try {
      let next = await tokens.next();
      for (let count = 1; !next.done; count++) {
        const piece = detokenizer.push(next.value.id);
        const { text, stop }: StopResult = count < of.stop.from ? { text: piece } : matcher.push(piece);
        found ??= stop;
        yield { text, token: next.value };
        next = await tokens.next(found !== undefined);
      }
      const { text, stop } = matcher.push(detokenizer.flush());
      found ??= stop;
      const rest = text + (found === undefined ? matcher.flush() : '');
      if (rest !== '') yield { text: rest, token: undefined };
      complete({ ...next.value, stop: found });
    } finally {
      await tokens.return(undefined as never);
    }
  };
}
