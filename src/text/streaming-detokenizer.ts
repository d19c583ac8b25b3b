import type { DecodeOptions, Tokenizer } from './tokenizer.ts';

const SPACE = 0x20;

/**
 * Decodes tokens to text one by one. A character whose bytes are spread over several tokens is emitted with its last
 * byte; bytes that cannot become UTF-8 are emitted as U+FFFD. The concatenated pieces equal the result of
 * `Tokenizer.decode`.
 */
export class StreamingDetokenizer {
  readonly #tokenizer: Tokenizer;
  readonly #special: boolean;
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  #dropsSpace: boolean;

  constructor(tokenizer: Tokenizer, { special = false, keepLeadingSpace = false }: DecodeOptions = {}) {
    this.#tokenizer = tokenizer;
    this.#special = special;
    this.#dropsSpace = tokenizer.marksTextStart && !keepLeadingSpace;
  }

  /** The text that this token completes, often empty. Throws `TOKEN_OUT_OF_RANGE`. */
  push(id: number): string {
    let bytes = this.#tokenizer.tokenBytes(id);
    if (bytes.length === 0 || (!this.#special && this.#tokenizer.isControl(id))) return '';
    if (this.#dropsSpace) {
      this.#dropsSpace = false;
      if (bytes[0] === SPACE) bytes = bytes.subarray(1);
    }
    return this.#decoder.decode(bytes, { stream: true });
  }

  /** U+FFFD for a character that was begun but not finished, otherwise nothing. The stream ends here. */
  flush(): string {
    return this.#decoder.decode();
  }
}
