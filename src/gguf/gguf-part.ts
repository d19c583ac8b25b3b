import { fail } from '../base/errors.ts';
import type { ByteSource } from '../io/index.ts';
import { type HeaderOptions, HeaderReader } from './header-reader.ts';
import { GgufMetadata } from './metadata.ts';
import { readPairCount, scanMetadata } from './scan-metadata.ts';
import { readTensorCount, scanTensors } from './scan-tensors.ts';
import type { TensorInfo } from './tensor-info.ts';

const MAGIC = [0x47, 0x47, 0x55, 0x46];
const DEFAULT_ALIGNMENT = 32;

/** One physical file: a whole model, or a part of a split one. */
export interface GgufPart {
  readonly source: ByteSource;
  /** GGUF version: 2 or 3. */
  readonly version: number;
  /** The alignment of tensor offsets in bytes. */
  readonly alignment: number;
  /** Bytes from the magic to the end of the tensor index. */
  readonly headerBytes: number;
  readonly metadata: GgufMetadata;
  readonly tensors: readonly TensorInfo[];
}

/** Reads and checks the header of one file: magic, version, counts, metadata, tensor index. */
export async function readPart(source: ByteSource, options: HeaderOptions): Promise<GgufPart> {
  const reader = new HeaderReader(source, options);
  await checkMagic(reader);
  const version = await readVersion(reader);
  const tensorCount = await readTensorCount(reader);
  const pairCount = await readPairCount(reader);
  const ranges = await scanMetadata(reader, pairCount);
  const metadata = new GgufMetadata(source.name, reader.taken(), ranges);
  const alignment = alignmentOf(metadata, source.name);
  const tensors = await scanTensors(reader, source, tensorCount, alignment);
  return { source, version, alignment, headerBytes: reader.position, metadata, tensors };
}

async function checkMagic(reader: HeaderReader): Promise<void> {
  const magic = await reader.bytes(MAGIC.length, 'the magic');
  if (MAGIC.every((byte, index) => magic[index] === byte)) return;
  const hex = Array.from(magic, (byte) => byte.toString(16).padStart(2, '0')).join(' ');
  const text = Array.from(magic, (byte) => (byte > 31 && byte < 127 ? String.fromCharCode(byte) : '.'));
  const known = BEGINNINGS.find(([beginning]) => hex.startsWith(beginning))?.[1];
  const what = known ?? ((await isSafetensors(reader)) ? SAFETENSORS : undefined);
  const like = what === undefined ? '' : `, as ${what}`;
  fail('GGUF_MAGIC', { source: reader.sourceName, found: `${hex} ("${text.join('')}")${like}` });
}

const SAFETENSORS = 'safetensors do: `rocmforge convert` makes a GGUF file of the folder that they are in';

/** Whether the rest of a length of eight bytes, of which four were read, is zeros, and JSON comes behind. */
async function isSafetensors(reader: HeaderReader): Promise<boolean> {
  const rest = await reader.bytes(5, 'what may be safetensors').catch(() => undefined);
  return rest?.[4] === 0x7b && rest.subarray(0, 4).every((byte) => byte === 0);
}

/** What people have in place of a model, by how it begins. */
const BEGINNINGS: readonly (readonly [hex: string, what: string])[] = [
  ['3c 21 44 4f', 'a web page does: the address is not that of the file'],
  ['3c 68 74 6d', 'a web page does: the address is not that of the file'],
  ['76 65 72 73', 'the pointer to a file in Git LFS does: the file itself was not downloaded'],
  ['50 4b 03 04', 'a zip archive or a checkpoint of PyTorch does'],
  ['1f 8b', 'a file compressed by gzip does'],
  ['28 b5 2f fd', 'a file compressed by zstd does'],
  ['6c 6d 67 67', 'the formats of llama.cpp before GGUF do'],
  ['74 6a 67 67', 'the formats of llama.cpp before GGUF do'],
  ['7b', 'a file of JSON does'],
];

async function readVersion(reader: HeaderReader): Promise<number> {
  const version = await reader.u32('the version');
  const source = reader.sourceName;
  // A small number in big-endian order has its only non-zero byte at the other end.
  const swapped = version / 2 ** 24;
  if (Number.isInteger(swapped) && swapped > 0) fail('GGUF_BIG_ENDIAN', { source, version: swapped });
  if (version !== 2 && version !== 3) fail('GGUF_VERSION', { source, found: version });
  return version;
}

function alignmentOf(metadata: GgufMetadata, source: string): number {
  const alignment = metadata.number('general.alignment') ?? DEFAULT_ALIGNMENT;
  const isPowerOfTwo = alignment >= 1 && alignment <= 2 ** 31 && Number.isInteger(Math.log2(alignment));
  if (isPowerOfTwo) return alignment;
  const expected = 'a power of two';
  return fail('GGUF_INVALID', { source, what: 'general.alignment', found: `${alignment}`, expected });
}
