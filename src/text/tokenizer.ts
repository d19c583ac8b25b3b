import type { Spans } from '../jinja/index.ts';
import type { SpecialTokens } from './special-tokens.ts';
import type { TokenType } from './token-type.ts';

/** Options of encoding. */
export interface EncodeOptions {
  /** Adds the tokens that the model expects around a text (such as beginning of sequence). Default true. */
  readonly addSpecial?: boolean;
  /**
   * Recognizes the names of control tokens in the text. Default false, so that text from outside cannot forge the turns
   * of a conversation. User-defined tokens are always recognized. Spans of the text (start and end of each, ascending,
   * in UTF-16 units) restrict where control tokens and user-defined ones that are markup (`<think>`) may occur: in all
   * other text they are neither recognized nor produced by merges.
   */
  readonly parseSpecial?: boolean | Spans;
}

/** Options of decoding. */
export interface DecodeOptions {
  /** Writes control tokens as their names instead of leaving them out. Default false. */
  readonly special?: boolean;
  /**
   * Keeps the leading space of the first token, for ids that continue a text. Default false: if the vocabulary marks
   * the beginning of a text with a space, that space is removed.
   */
  readonly keepLeadingSpace?: boolean;
}

/**
 * Converts text to token ids and back, as defined by the model's vocabulary. Calls do not influence each other. Tables
 * that only encoding needs are built at the first `encode`.
 */
export interface Tokenizer {
  /** The name in `tokenizer.ggml.model`. */
  readonly model: string;
  readonly vocabularySize: number;
  /** Bytes of the longest token: no token covers more characters of a text. */
  readonly longestToken: number;
  readonly special: SpecialTokens;
  /** True if the first word of a text is encoded as if it followed a space. */
  readonly marksTextStart: boolean;
  /** The ids of a text. Lone surrogates count as U+FFFD. */
  encode(text: string, options?: EncodeOptions): number[];
  /**
   * The same ids; a long text is encoded in slices between the thread's other work. Rejects with `ABORTED` when the
   * signal fires.
   */
  encodeInTurns(text: string, options?: EncodeOptions & { readonly signal?: AbortSignal }): Promise<number[]>;
  /** The text of ids; invalid UTF-8 becomes U+FFFD. Throws `TOKEN_OUT_OF_RANGE`. */
  decode(ids: Iterable<number>, options?: DecodeOptions): string;
  /**
   * The bytes of a token, for control tokens those of their names. Must not be changed. Throws `TOKEN_OUT_OF_RANGE`.
   */
  tokenBytes(id: number): Uint8Array;
  /** The token's entry in the vocabulary, as spelled in the file. Throws `TOKEN_OUT_OF_RANGE`. */
  tokenText(id: number): string;
  /** Throws `TOKEN_OUT_OF_RANGE`. */
  tokenType(id: number): TokenType;
  /** The id of the entry with this spelling in the vocabulary. */
  idOf(tokenText: string): number | undefined;
  /** True for control and unknown tokens, which only steer the model and are not part of the text. */
  isControl(id: number): boolean;
}
