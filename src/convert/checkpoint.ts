import { fail } from '../base/errors.ts';
import type { TensorFormat } from '../formats/index.ts';
import { BF16, F16, F32, I8 } from '../formats/index.ts';
import type { ByteSource } from '../io/index.ts';

/** The files of a model as Hugging Face's libraries store it. Reading a missing one gives undefined. */
export interface CheckpointFiles {
  /** The folder's own name. */
  readonly name: string;
  list(): Promise<readonly string[]>;
  read(file: string): Promise<Uint8Array | undefined>;
  /** Opens a file of tensors; the opener disposes it. */
  open(file: string): Promise<ByteSource>;
}

/** A tensor in a safetensors file. */
export interface StoredTensor {
  readonly name: string;
  readonly format: TensorFormat;
  /** Elements per dimension, the contiguous one last. */
  readonly shape: readonly number[];
  readonly source: ByteSource;
  readonly offset: number;
  readonly byteLength: number;
}

/** Formats of tensors; those of bytes are parts of quantized ones. */
const FORMATS: Readonly<Record<string, TensorFormat>> = { F32, F16, BF16, U8: I8 };

/** No header of real models comes near it. */
const MAX_HEADER = 100 << 20;

const INDEX = 'model.safetensors.index.json';

/** A JSON file of the checkpoint, or undefined. Rejects with `CHECKPOINT_INVALID`. */
export async function readJson(files: CheckpointFiles, file: string): Promise<JsonObject | undefined> {
  const bytes = await files.read(file);
  return bytes && parseObject(bytes, file);
}

/** A file of JSON that lists values; undefined if there is none. Rejects with `CHECKPOINT_INVALID`. */
export async function readJsonList(
  files: CheckpointFiles,
  file: string,
): Promise<readonly unknown[] | undefined> {
  const bytes = await files.read(file);
  const value = bytes && parse(bytes, file);
  return value === undefined || Array.isArray(value)
    ? value
    : invalid(file, 'another value', 'a list of JSON');
}

/** A value of JSON that has names. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** Whether a value of JSON has names. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * The tensors of all safetensors files, by file and name. The sources are the caller's. Rejects with `CHECKPOINT_INVALID`, also if
 * the index and the files do not name the same tensors.
 */
export async function readTensors(files: CheckpointFiles, opened: ByteSource[]): Promise<StoredTensor[]> {
  const index = await readJson(files, INDEX);
  const weights = index?.weight_map;
  if (index && !isObject(weights)) invalid(INDEX, 'no weight_map', 'the file of each tensor');
  const names = isObject(weights)
    ? [...new Set(Object.values(weights).map(String))]
    : (await files.list()).filter((name) => /^model.*\.safetensors$/.test(name));
  if (names.length === 0) invalid(files.name, 'no safetensors', 'model.safetensors, or parts with an index');
  const tensors: StoredTensor[] = [];
  for (const name of names.toSorted()) {
    const source = await files.open(name);
    opened.push(source);
    tensors.push(...(await readHeader(source, name)));
  }
  if (isObject(weights)) {
    const found = new Set(tensors.map((tensor) => tensor.name));
    const missing = Object.keys(weights).find((name) => !found.has(name));
    if (missing !== undefined) invalid(INDEX, `${missing}, which no file has`, 'the tensors of the files');
    const extra = tensors.find((tensor) => !Object.hasOwn(weights, tensor.name));
    if (extra) invalid(INDEX, `no ${extra.name}, which a file has`, 'the tensors of the files');
  }
  return tensors;
}

/** Throws `CHECKPOINT_INVALID`. */
export function invalid(file: string, found: string, expected: string): never {
  return fail('CHECKPOINT_INVALID', { file, found, expected });
}

async function readHeader(source: ByteSource, file: string): Promise<StoredTensor[]> {
  const start = new Uint8Array(8);
  if (source.size < 8) invalid(file, `${source.size} bytes`, 'a safetensors file');
  await source.read(0, start);
  const length = Number(new DataView(start.buffer).getBigUint64(0, true));
  if (length > MAX_HEADER || 8 + length > source.size) invalid(file, `a header of ${length} bytes`, 'less');
  const bytes = new Uint8Array(length);
  await source.read(8, bytes);
  const tensors: StoredTensor[] = [];
  // In the order of their names, as the library of the format gives them.
  const entries = Object.entries(parseObject(bytes, file)).filter(([name]) => name !== '__metadata__');
  for (const [name, entry] of entries.toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    tensors.push(tensorOf(name, entry, { source, file, dataStart: 8 + length }));
  }
  return tensors;
}

function tensorOf(
  name: string,
  entry: unknown,
  { source, file, dataStart }: { source: ByteSource; file: string; dataStart: number },
): StoredTensor {
  const { dtype, shape, data_offsets: offsets } = isObject(entry) ? entry : {};
  const format = FORMATS[String(dtype)];
  if (!format) {
    fail('CONVERT_UNSUPPORTED', {
      what: `tensor ${name}`,
      found: String(dtype),
      expected: 'F32, F16 or BF16',
    });
  }
  if (!areSizes(shape) || !areSizes(offsets)) return invalid(file, `no shape or place of ${name}`, 'both');
  const [begin = 0, end = 0] = offsets;
  const byteLength = shape.reduce((product, size) => product * size, 1) * format.blockBytes;
  if (end - begin !== byteLength || dataStart + end > source.size) {
    invalid(file, `${name} at ${begin} to ${end}`, `${byteLength} bytes within the file`);
  }
  return { name, format, shape, source, offset: dataStart + begin, byteLength };
}

function areSizes(value: unknown): value is number[] {
  return Array.isArray(value) && value.every((size) => Number.isSafeInteger(size) && size >= 0);
}

function parse(bytes: Uint8Array, file: string): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (cause) {
    return fail('CHECKPOINT_INVALID', { file, found: 'no JSON', expected: 'JSON in UTF-8' }, cause);
  }
}

function parseObject(bytes: Uint8Array, file: string): JsonObject {
  const value = parse(bytes, file);
  return isObject(value) ? value : invalid(file, 'another value', 'an object of JSON');
}
