import type { DecodeOptions, Tokenizer } from './tokenizer.ts';

const SPACE = 0x20;

/** The first byte that is no character by itself. */
const BEYOND_ASCII = 0x80;

/**
 * Decodes tokens to text one by one. A character whose bytes are spread over several tokens is emitted with its last
 * byte; bytes that cannot become UTF-8 are emitted as U+FFFD. The concatenated pieces equal the result of
 * `Tokenizer.decode`.
 */
export class StreamingDetokenizer {
  readonly #tokenizer: Tokenizer;
  readonly #special: boolean;
  /** Made for the first bytes beyond ASCII: making one takes longer than decoding a word. */
  #decoder: TextDecoder | undefined;
  /** Whether the decoder may hold the beginning of a character. */
  #isWithin = false;
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
    const text = this.#isWithin ? undefined : asciiText(bytes);
    if (text !== undefined) return text;
    this.#isWithin = (bytes.at(-1) as number) >= BEYOND_ASCII;
    this.#decoder ??= new TextDecoder('utf-8', { ignoreBOM: true });
    return this.#decoder.decode(bytes, { stream: true });
  }

  /** U+FFFD for a character that was begun but not finished, otherwise nothing. The stream ends here. */
  flush(): string {
    this.#isWithin = false;
    return this.#decoder?.decode() ?? '';
  }
}

/** The text of bytes that are ASCII; undefined for others. */
function asciiText(bytes: Uint8Array): string | undefined {
  let text = '';
  for (const byte of bytes) {
    if (byte >= BEYOND_ASCII) return undefined;
    text += String.fromCharCode(byte);
  }
  return text;
}
