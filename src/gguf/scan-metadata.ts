import { fail } from '../base/errors.ts';
import type { HeaderReader } from './header-reader.ts';
import { decodeName } from './utf8.ts';
import { isFixedSize, MIN_VALUE_BYTES, VALUE_TYPES, type ValueType } from './value-type.ts';

/** Maximum length of a key or tensor name (gguf.md: at most 2^16 - 1 bytes). */
const MAX_NAME_BYTES = 0xffff;

/** Deeper nesting does not occur in practice; the limit keeps a malicious file from exhausting the stack. */
const MAX_ARRAY_DEPTH = 8;

/** A key (8-byte length), a type id and the smallest value. */
const MIN_PAIR_BYTES = 13;

/** The position of a metadata value in the header. `start` to `end` are the bytes after the type id. */
export interface ValueRange {
  readonly type: ValueType;
  readonly start: number;
  readonly end: number;
}

/**
 * Scans all metadata pairs without decoding their values, so that a large vocabulary takes one pass over its lengths.
 */
export async function scanMetadata(reader: HeaderReader, count: number): Promise<Map<string, ValueRange>> {
  const ranges = new Map<string, ValueRange>();
  for (let index = 0; index < count; index++) {
    const key = await readName(reader, 'metadata key');
    if (ranges.has(key)) {
      fail('GGUF_DUPLICATE', { source: reader.sourceName, what: 'metadata key', name: key });
    }
    const type = await readType(reader, key);
    const start = reader.position;
    await skipValue(reader, type, key);
    ranges.set(key, { type, start, end: reader.position });
  }
  return ranges;
}

/** Reads the number of metadata pairs. */
export function readPairCount(reader: HeaderReader): Promise<number> {
  return reader.count(MIN_PAIR_BYTES, 'the metadata count');
}

/** Reads a length-prefixed name: a metadata key or a tensor's name. */
export async function readName(reader: HeaderReader, what: string): Promise<string> {
  const length = await reader.u64(`the length of a ${what}`);
  const source = reader.sourceName;
  if (length === 0 || length > MAX_NAME_BYTES) {
    const expected = `1 to ${MAX_NAME_BYTES} bytes`;
    fail('GGUF_INVALID', { source, what: `the length of a ${what}`, found: `${length}`, expected });
  }
  return decodeName(await reader.bytes(length, what), source, what);
}

async function readType(reader: HeaderReader, key: string): Promise<ValueType> {
  const id = await reader.u32(`the type of "${key}"`);
  const type = VALUE_TYPES[id];
  if (type) return type;
  const expected = `0 to ${VALUE_TYPES.length - 1}`;
  const what = `the value type of "${key}"`;
  return fail('GGUF_INVALID', { source: reader.sourceName, what, found: `${id}`, expected });
}

async function skipValue(reader: HeaderReader, type: ValueType, key: string): Promise<void> {
  if (type === 'array') return skipArray(reader, key, 1);
  if (type === 'string') return reader.skipStrings(1, key);
  if (type === 'bool') return checkBooleans(reader, 1, key);
  return reader.skip(MIN_VALUE_BYTES[type], key);
}

async function skipArray(reader: HeaderReader, key: string, depth: number): Promise<void> {
  if (depth > MAX_ARRAY_DEPTH) {
    const what = `the nesting of array "${key}"`;
    const expected = `at most ${MAX_ARRAY_DEPTH}`;
    fail('GGUF_INVALID', { source: reader.sourceName, what, found: `${depth} levels`, expected });
  }
  const type = await readType(reader, key);
  const count = await reader.count(MIN_VALUE_BYTES[type], `the length of array "${key}"`);
  if (type === 'bool') return checkBooleans(reader, count, key);
  if (isFixedSize(type)) return reader.skip(count * MIN_VALUE_BYTES[type], key);
  if (type === 'string') return reader.skipStrings(count, key);
  for (let index = 0; index < count; index++) await skipArray(reader, key, depth + 1);
}

async function checkBooleans(reader: HeaderReader, count: number, key: string): Promise<void> {
  const wrong = (await reader.bytes(count, key)).find((byte) => byte > 1);
  if (wrong === undefined) return;
  const what = `the boolean "${key}"`;
  fail('GGUF_INVALID', { source: reader.sourceName, what, found: `${wrong}`, expected: '0 or 1' });
}
