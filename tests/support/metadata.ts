import type { TokenizerMetadata } from '../../src/text/index.ts';

type Value = string | number | boolean | readonly string[] | readonly number[];

/** Metadata written out in a test. Keys without a dot are short for `tokenizer.ggml.…`. */
export function metadataOf(values: Readonly<Record<string, Value>>): TokenizerMetadata {
  const map = new Map(
    Object.entries(values).map(([key, value]) => [key.includes('.') ? key : `tokenizer.ggml.${key}`, value]),
  );
  const get = <T extends Value>(key: string, is: (value: Value) => value is T): T | undefined => {
    const value = map.get(key);
    return value !== undefined && is(value) ? value : undefined;
  };
  return {
    string: (key) => get(key, (value) => typeof value === 'string'),
    number: (key) => get(key, (value) => typeof value === 'number'),
    boolean: (key) => get(key, (value) => typeof value === 'boolean'),
    numbers: (key) => get(key, isNumbers),
    encoded(key) {
      const strings = get(key, isStrings);
      return strings && { type: 'array', payload: encodeStrings(strings) };
    },
    keys: () => map.keys(),
  };
}

/** An array of strings in GGUF's encoding: element type 8, count, and each string with its length. */
function encodeStrings(strings: readonly string[]): Uint8Array {
  const texts = strings.map((text) => new TextEncoder().encode(text));
  const payload = new Uint8Array(texts.reduce((sum, text) => sum + 8 + text.length, 12));
  const view = new DataView(payload.buffer);
  view.setUint32(0, 8, true);
  view.setBigUint64(4, BigInt(strings.length), true);
  let at = 12;
  for (const text of texts) {
    view.setBigUint64(at, BigInt(text.length), true);
    payload.set(text, at + 8);
    at += 8 + text.length;
  }
  return payload;
}

function isStrings(value: Value): value is readonly string[] {
  return Array.isArray(value) && typeof (value[0] ?? '') === 'string';
}

function isNumbers(value: Value): value is readonly number[] {
  return Array.isArray(value) && typeof (value[0] ?? 0) === 'number';
}
