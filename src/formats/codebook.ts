/**
 * Lattice codebooks of the IQ formats: entry `i` is `width` levels at `i * width`. The text is base64 of one
 * little-endian 16-bit number per entry, whose digits in base `levels.length`, the lowest first, select the levels.
 */
export function codebook(text: string, levels: readonly number[], width: number): Int8Array {
  const packed = atob(text.replace(/\s+/g, ''));
  const entries = packed.length / 2;
  const book = new Int8Array(entries * width);
  for (let entry = 0; entry < entries; entry++) {
    let code = packed.charCodeAt(2 * entry) | (packed.charCodeAt(2 * entry + 1) << 8);
    for (let i = 0; i < width; i++) {
      book[entry * width + i] = levels[code % levels.length] as number;
      code = Math.floor(code / levels.length);
    }
  }
  return book;
}

/** A codebook that is unpacked on first use. */
export interface LazyCodebook {
  (): Int8Array;
  /** The levels that entries consist of, in ascending order. */
  readonly levels: readonly number[];
}

/** The codebook of a text. */
export function lazyCodebook(text: string, levels: readonly number[], width: number): LazyCodebook {
  let book: Int8Array | undefined;
  const unpacked = () => {
    book ??= codebook(text, levels, width);
    return book;
  };
  return Object.assign(unpacked, { levels });
}

/**
 * Eight sign bits from seven: the number of minus signs is always even, so the eighth bit is the parity of the others.
 */
export function evenSigns(seven: number): number {
  let parity = seven ^ (seven >> 4);
  parity ^= parity >> 2;
  parity ^= parity >> 1;
  return seven | ((parity & 1) << 7);
}

/** Writes `width` codebook levels starting at `entry`, times `scale` and negated if their bit in `signs` is set. */
export function writeSigned(
  out: Float32Array,
  to: number,
  scale: number,
  levels: {
    readonly book: Int8Array;
    readonly entry: number;
    readonly width: number;
    readonly signs: number;
  },
): void {
  const { book, entry, width, signs } = levels;
  for (let i = 0; i < width; i++) {
    const value = scale * (book[entry * width + i] as number);
    out[to + i] = (signs >> i) & 1 ? -value : value;
  }
}
