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
    strings: (key) => get(key, isStrings),
    numbers: (key) => get(key, isNumbers),
    keys: () => map.keys(),
  };
}

function isStrings(value: Value): value is readonly string[] {
  return Array.isArray(value) && typeof (value[0] ?? '') === 'string';
}

function isNumbers(value: Value): value is readonly number[] {
  return Array.isArray(value) && typeof (value[0] ?? 0) === 'number';
}
