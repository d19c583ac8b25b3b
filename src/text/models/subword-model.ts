import type { Steps } from '../../base/turns.ts';

/** An algorithm that splits plain text into tokens, selected by `tokenizer.ggml.model`. */
export interface SubwordModel {
  /**
   * Appends the ids of well-formed text without special tokens. `afterSpecial`: it begins the text or follows a special
   * token. Other texts may be encoded while it pauses.
   */
  encode(text: string, afterSpecial: boolean, out: number[]): Steps;
  /** The bytes of a normal token. */
  bytesOf(id: number): Uint8Array;
}
