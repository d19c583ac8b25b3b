import { alignUp } from '../base/bytes.ts';
import { fail } from '../base/errors.ts';
import type { TensorFormat } from '../formats/index.ts';
import { ByteBuilder } from './byte-builder.ts';
import { encodeValue } from './encode-value.ts';
import type { GgufValue } from './gguf-value.ts';
import type { EncodedValue } from './metadata.ts';
import { VALUE_TYPES } from './value-type.ts';

const MAGIC = 'GGUF';
/** The alignment of tensors in files that do not state one. */
export const DEFAULT_ALIGNMENT = 32;

/** A tensor to be written; every `TensorInfo` qualifies. */
export interface PlannedTensor {
  readonly name: string;
  readonly format: TensorFormat;
  /** Elements per dimension, the contiguous one first; at most four. One may be zero. */
  readonly shape: readonly number[];
}

/** All of a file except its tensor data. Tensors are aligned to the metadata's `general.alignment`, or 32. */
export interface GgufPlan {
  readonly version?: 2 | 3;
  readonly metadata: Iterable<readonly [string, GgufValue]>;
  readonly tensors: readonly PlannedTensor[];
}

/** A planned tensor with its position in the file. */
export interface PlacedTensor extends PlannedTensor {
  /** Position of its first byte in the file. */
  readonly offset: number;
  /** Bytes of all its blocks, without padding. */
  readonly byteLength: number;
}

/** A file's header and the positions of its tensors. */
export interface GgufLayout {
  /** From the magic to the tensor index, padded to the start of the data. */
  readonly header: Uint8Array;
  readonly alignment: number;
  readonly tensors: readonly PlacedTensor[];
  /** Size of the whole file. */
  readonly byteLength: number;
}

/**
 * Encodes the header and assigns positions to the tensors in order. Throws `INVALID_ARGUMENT` for a plan that readers
 * would reject.
 */
export function layoutOf(plan: GgufPlan): GgufLayout {
  const metadata = encodeAll(plan.metadata);
  const alignment = alignmentOf(metadata);
  const tensors = placeTensors(plan.tensors, alignment);
  const out = new ByteBuilder();
  out.raw(new TextEncoder().encode(MAGIC));
  out.u32(plan.version ?? 3);
  out.u64(tensors.length);
  out.u64(metadata.size);
  for (const [key, { type, payload }] of metadata) {
    out.text(key);
    out.u32(VALUE_TYPES.indexOf(type));
    out.raw(payload);
  }
  for (const tensor of tensors) appendTensor(out, tensor);
  const dataStart = alignUp(out.byteLength, alignment);
  out.raw(new Uint8Array(dataStart - out.byteLength));
  const last = tensors.at(-1);
  return {
    header: out.bytes(),
    alignment,
    tensors: tensors.map((tensor) => ({ ...tensor, offset: dataStart + tensor.offset })),
    byteLength: dataStart + (last ? alignUp(last.offset + last.byteLength, alignment) : 0),
  };
}

function encodeAll(metadata: GgufPlan['metadata']): Map<string, EncodedValue> {
  const encoded = new Map<string, EncodedValue>();
  for (const [key, value] of metadata) {
    checkName('metadata key', key, encoded);
    encoded.set(key, encodeValue(value));
  }
  return encoded;
}

function alignmentOf(metadata: ReadonlyMap<string, EncodedValue>): number {
  const value = metadata.get('general.alignment');
  if (!value) return DEFAULT_ALIGNMENT;
  const { type, payload } = value;
  const view = new DataView(payload.buffer, payload.byteOffset, payload.byteLength);
  const alignment = type === 'u32' ? view.getUint32(0, true) : 0;
  if (alignment >= 1 && Number.isInteger(Math.log2(alignment))) return alignment;
  const found = type === 'u32' ? `${alignment}` : `a value of type ${type}`;
  return fail('INVALID_ARGUMENT', { name: 'general.alignment', found, expected: 'a power of two as u32' });
}

function placeTensors(planned: readonly PlannedTensor[], alignment: number): PlacedTensor[] {
  const placed = new Map<string, PlacedTensor>();
  let offset = 0;
  for (const { name, format, shape } of planned) {
    checkName('tensor', name, placed);
    const byteLength = byteLengthOf(name, format, shape);
    placed.set(name, { name, format, shape, offset, byteLength });
    offset = alignUp(offset + byteLength, alignment);
  }
  return [...placed.values()];
}

function byteLengthOf(name: string, format: TensorFormat, shape: readonly number[]): number {
  const elements = shape.reduce((product, dimension) => product * dimension, 1);
  const wholeBlocks = (shape[0] ?? 1) % format.blockElements === 0;
  const sizes = shape.every((dimension) => Number.isSafeInteger(dimension) && dimension >= 0);
  if (shape.length <= 4 && wholeBlocks && sizes && Number.isSafeInteger(elements)) {
    return (elements / format.blockElements) * format.blockBytes;
  }
  const expected = `at most 4 whole numbers, the first a multiple of ${format.blockElements}`;
  return fail('INVALID_ARGUMENT', { name: `shape of tensor "${name}"`, found: shape.join(' x '), expected });
}

function appendTensor(out: ByteBuilder, tensor: PlacedTensor): void {
  out.text(tensor.name);
  out.u32(tensor.shape.length);
  for (const dimension of tensor.shape) out.u64(dimension);
  out.u32(tensor.format.ggmlType);
  out.u64(tensor.offset);
}

function checkName(what: string, name: string, known: ReadonlyMap<string, unknown>): void {
  const byteLength = new TextEncoder().encode(name).byteLength;
  if (known.has(name))
    fail('INVALID_ARGUMENT', { name: what, found: `"${name}" twice`, expected: 'it once' });
  if (byteLength === 0 || byteLength > 0xffff) {
    const found = `a name of ${byteLength} bytes`;
    fail('INVALID_ARGUMENT', { name: what, found, expected: '1 to 65535 bytes' });
  }
}
