import { alignUp } from '../base/bytes.ts';
import { fail } from '../base/errors.ts';
import { ALL_FORMATS, formatOf, type TensorFormat } from '../formats/index.ts';
import type { ByteSource } from '../io/index.ts';
import type { HeaderReader } from './header-reader.ts';
import { readName } from './scan-metadata.ts';
import type { TensorInfo } from './tensor-info.ts';

/** A name (8-byte length), dimension count, type and offset. */
const MIN_INFO_BYTES = 24;

/** `GGML_MAX_DIMS`. */
const MAX_DIMENSIONS = 4;

/** A tensor's header entry, with its offset still relative to the data section. */
interface Entry {
  readonly name: string;
  readonly format: TensorFormat;
  readonly shape: readonly number[];
  readonly elementCount: number;
  readonly byteLength: number;
  readonly relativeOffset: number;
}

/** Reads the number of tensors. */
export function readTensorCount(reader: HeaderReader): Promise<number> {
  return reader.count(MIN_INFO_BYTES, 'the tensor count');
}

/** Reads the tensor index and validates every tensor against the file: format, shape, alignment, bounds, overlap. */
export async function scanTensors(
  reader: HeaderReader,
  source: ByteSource,
  count: number,
  alignment: number,
): Promise<TensorInfo[]> {
  const entries = new Map<string, Entry>();
  for (let index = 0; index < count; index++) {
    const entry = await readEntry(reader, alignment);
    if (entries.has(entry.name)) {
      fail('GGUF_DUPLICATE', { source: source.name, what: 'tensor', name: entry.name });
    }
    entries.set(entry.name, entry);
  }
  const dataStart = alignUp(reader.position, alignment);
  const tensors = Array.from(entries.values(), (entry) => placed(entry, dataStart, source));
  checkOverlap(tensors, source.name);
  return tensors;
}

async function readEntry(reader: HeaderReader, alignment: number): Promise<Entry> {
  const source = reader.sourceName;
  const name = await readName(reader, 'tensor name');
  const shape = await readShape(reader, name);
  const typeId = await reader.u32(name);
  const format = formatOf(typeId) ?? unknownFormat(source, name, typeId);
  const elementCount = shape.reduce((product, dimension) => product * dimension, 1);
  const byteLength = (elementCount / format.blockElements) * format.blockBytes;
  if (!Number.isSafeInteger(elementCount) || !Number.isSafeInteger(Math.ceil(byteLength))) {
    invalid(source, `the shape of tensor "${name}"`, shape.join(' x '), 'fewer than 2^53 elements and bytes');
  }
  const row = shape[0] ?? 1;
  if (row % format.blockElements !== 0) {
    const expected = `a multiple of ${format.blockElements}, the block of ${format.name}`;
    invalid(source, `the first dimension of tensor "${name}"`, `${row}`, expected);
  }
  const relativeOffset = await reader.u64(name);
  if (relativeOffset % alignment !== 0) {
    invalid(source, `the offset of tensor "${name}"`, `${relativeOffset}`, `a multiple of ${alignment}`);
  }
  return { name, format, shape, elementCount, byteLength, relativeOffset };
}

async function readShape(reader: HeaderReader, name: string): Promise<number[]> {
  const count = await reader.u32(name);
  if (count > MAX_DIMENSIONS) {
    const expected = `at most ${MAX_DIMENSIONS}`;
    invalid(reader.sourceName, `the dimension count of tensor "${name}"`, `${count}`, expected);
  }
  const shape: number[] = [];
  for (let index = 0; index < count; index++) {
    // Zero is valid: llama.cpp reads and writes tensors without elements.
    shape.push(await reader.u64(name));
  }
  return shape;
}

function placed(entry: Entry, dataStart: number, source: ByteSource): TensorInfo {
  const { relativeOffset, ...info } = entry;
  const offset = dataStart + relativeOffset;
  if (offset + info.byteLength > source.size) {
    const { name: tensor, byteLength } = info;
    fail('GGUF_TENSOR_BOUNDS', { source: source.name, tensor, offset, byteLength, size: source.size });
  }
  return { ...info, offset, source };
}

function checkOverlap(tensors: readonly TensorInfo[], source: string): void {
  const byOffset = tensors.filter(({ byteLength }) => byteLength > 0).sort((a, b) => a.offset - b.offset);
  let before: TensorInfo | undefined;
  for (const tensor of byOffset) {
    const end = before ? before.offset + before.byteLength : 0;
    if (before && tensor.offset < end) {
      const { name, offset } = tensor;
      fail('GGUF_TENSOR_OVERLAP', { source, tensor: name, other: before.name, offset, end });
    }
    before = tensor;
  }
}

function unknownFormat(source: string, tensor: string, found: number): never {
  const expected = ALL_FORMATS.map((format) => `${format.name} (${format.ggmlType})`).join(', ');
  fail('GGUF_TENSOR_TYPE', { source, tensor, found, expected });
}

function invalid(source: string, what: string, found: string, expected: string): never {
  fail('GGUF_INVALID', { source, what, found, expected });
}
