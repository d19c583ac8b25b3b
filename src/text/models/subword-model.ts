import type { Steps } from '../../base/turns.ts';

/** One way to cut plain text into tokens: what a name in `tokenizer.ggml.model` stands for. */
export interface SubwordModel {
  /**
   * Appends the ids of a stretch of well-formed text without special tokens. `afterSpecial`: it begins the text or
   * follows a special token. Others may be encoded while it pauses.
   */
  encode(text: string, afterSpecial: boolean, out: number[]): Steps;
  /** The bytes of an ordinary token. */
  bytesOf(id: number): Uint8Array;
}
