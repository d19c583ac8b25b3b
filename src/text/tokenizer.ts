import type { Spans } from '../jinja/index.ts';
import type { SpecialTokens } from './special-tokens.ts';
import type { TokenType } from './token-type.ts';

/** How text becomes ids. */
export interface EncodeOptions {
  /** Adds what the model wants around a text (beginning of sequence and the like). Default true. */
  readonly addSpecial?: boolean;
  /**
   * Reads the names of control tokens in the text as those tokens. Default false, so that text from outside cannot forge
   * the turns of a conversation. User-defined tokens are read always. Stretches of the text (start and end of each,
   * ascending, in UTF-16 units) say where control tokens and user-defined ones that are markup (`<think>`) may stand: in all
   * other text neither is read nor arises from merges.
   */
  readonly parseSpecial?: boolean | Spans;
}

/** How ids become text. */
export interface DecodeOptions {
  /** Writes control tokens as their names instead of leaving them out. Default false. */
  readonly special?: boolean;
  /**
   * Keeps the space that begins the first token, for ids that continue a text. Default false: where the vocabulary
   * marks the beginning of a text with a space, that space is left out again.
   */
  readonly keepLeadingSpace?: boolean;
}

/**
 * Text to token ids and back, as the model's own vocabulary defines it. Immutable in use: calls do not influence each
 * other. Tables that only encoding needs are built at the first `encode`.
 */
export interface Tokenizer {
  /** The name in `tokenizer.ggml.model`. */
  readonly model: string;
  readonly vocabularySize: number;
  /** Bytes of the longest token's entry: no token is of more characters of a text. */
  readonly longestToken: number;
  readonly special: SpecialTokens;
  /** True where the first word of a text is encoded as if a space stood before it. */
  readonly marksTextStart: boolean;
  /** The ids of a text. Lone surrogates count as U+FFFD. */
  encode(text: string, options?: EncodeOptions): number[];
  /**
   * The same ids; a long text is encoded in turns with whatever else the thread has to do. Rejects with `ABORTED` when the
   * signal fires.
   */
  encodeInTurns(text: string, options?: EncodeOptions & { readonly signal?: AbortSignal }): Promise<number[]>;
  /** The text of ids; bytes that are no UTF-8 become U+FFFD. Throws `TOKEN_OUT_OF_RANGE`. */
  decode(ids: Iterable<number>, options?: DecodeOptions): string;
  /** The bytes that a token stands for, control tokens by their names. Not to be changed. Throws `TOKEN_OUT_OF_RANGE`. */
  tokenBytes(id: number): Uint8Array;
  /** The token's entry in the vocabulary as the file spells it. Throws `TOKEN_OUT_OF_RANGE`. */
  tokenText(id: number): string;
  /** Throws `TOKEN_OUT_OF_RANGE`. */
  tokenType(id: number): TokenType;
  /** The id of the entry spelled so in the vocabulary. */
  idOf(tokenText: string): number | undefined;
  /** True for tokens that only steer the model and are not part of the text: control and unknown. */
  isControl(id: number): boolean;
}
