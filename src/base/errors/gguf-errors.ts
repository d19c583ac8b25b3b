import { entry } from './entry.ts';

const DAMAGED = 'The file is damaged or incomplete: download or convert it again.';

/** Failures of GGUF files: their header, metadata, tensor index and splits. */
export const ggufErrors = {
  GGUF_MAGIC: entry<{ source: string; found: string }>(
    422,
    'The file is not a GGUF file.',
    'Pass a .gguf file; convert other formats to GGUF first. A Git LFS pointer must be replaced by the file it names.',
    (p) => `${p.source} is not a GGUF file: it starts with ${p.found}, expected "GGUF"`,
  ),
  GGUF_VERSION: entry<{ source: string; found: number }>(
    422,
    'The GGUF version is not supported.',
    'Convert the model again with a current converter (GGUF version 3).',
    (p) => `${p.source}: found GGUF version ${p.found}, expected 2 or 3`,
  ),
  GGUF_BIG_ENDIAN: entry<{ source: string; version: number }>(
    422,
    'The GGUF file is written in big-endian byte order.',
    'Convert the model for a little-endian machine.',
    (p) => `${p.source} is a big-endian GGUF file of version ${p.version}, expected little-endian`,
  ),
  GGUF_TRUNCATED: entry<{ source: string; what: string; offset: number; needed: number; size: number }>(
    422,
    'The file ends inside its header.',
    DAMAGED,
    (p) => `${p.source}: ${p.what} at ${p.offset} needs ${p.needed} bytes, but the file ends at ${p.size}`,
  ),
  GGUF_HEADER_TOO_LARGE: entry<{ source: string; what: string; needed: number; limit: number }>(
    422,
    'The header of the file is implausibly large.',
    `${DAMAGED} Raise maxHeaderBytes if the header is meant to be this large.`,
    (p) => `${p.source}: ${p.what} makes the header ${p.needed} bytes long, expected at most ${p.limit}`,
  ),
  GGUF_INVALID: entry<{ source: string; what: string; found: string; expected: string }>(
    422,
    'A field of the file has an impossible value.',
    DAMAGED,
    (p) => `${p.source}: ${p.what}: found ${p.found}, expected ${p.expected}`,
  ),
  GGUF_DUPLICATE: entry<{ source: string; what: string; name: string }>(
    422,
    'A metadata key or tensor name occurs twice.',
    DAMAGED,
    (p) => `${p.source}: ${p.what} "${p.name}" occurs twice, expected once`,
  ),
  GGUF_TENSOR_TYPE: entry<{ source: string; tensor: string; found: number; expected: string }>(
    422,
    'A tensor has an unknown format.',
    'Use a file in one of the known formats, or a newer rocmforge.',
    (p) => `${p.source}: tensor "${p.tensor}" has ggml type ${p.found}, expected one of ${p.expected}`,
  ),
  GGUF_TENSOR_BOUNDS: entry<{
    source: string;
    tensor: string;
    offset: number;
    byteLength: number;
    size: number;
  }>(
    422,
    'The data of a tensor reaches past the end of the file.',
    DAMAGED,
    (p) =>
      `${p.source}: tensor "${p.tensor}" has ${p.byteLength} bytes at ${p.offset}, but the file ends at ${p.size}`,
  ),
  GGUF_TENSOR_OVERLAP: entry<{ source: string; tensor: string; other: string; offset: number; end: number }>(
    422,
    'Two tensors share bytes of the file.',
    DAMAGED,
    (p) =>
      `${p.source}: tensor "${p.tensor}" starts at ${p.offset}, inside "${p.other}", which ends at ${p.end}`,
  ),
  GGUF_TENSOR_MISSING: entry<{ source: string; tensor: string }>(
    422,
    'The file lacks a tensor that the model needs.',
    'Check that the file is complete and of the architecture it names, or convert it again.',
    (p) => `${p.source} has no tensor "${p.tensor}"`,
  ),
  GGUF_SPLIT_MISSING: entry<{ source: string; part: number; count: number; name: string; reason: string }>(
    404,
    'A part of a split model cannot be opened.',
    'Put all parts into one folder under the names they were published with.',
    (p) => `${p.source}: part ${p.part} of ${p.count} (${p.name}) cannot be opened: ${p.reason}`,
  ),
  GGUF_SPLIT_MISMATCH: entry<{ source: string; what: string; found: string; expected: string }>(
    422,
    'The parts of a split model do not belong together.',
    'Download all parts of the same model again, and keep their names.',
    (p) => `${p.source}: ${p.what}: found ${p.found}, expected ${p.expected}`,
  ),
  GGUF_METADATA_TYPE: entry<{ source: string; key: string; found: string; expected: string }>(
    422,
    'A metadata value has the wrong type for its key.',
    'Convert the model again with a current converter.',
    (p) => `${p.source}: metadata "${p.key}" is ${p.found}, expected ${p.expected}`,
  ),
  GGUF_METADATA_MISSING: entry<{ source: string; key: string; expected: string }>(
    422,
    'The file lacks a metadata value that the model needs.',
    'Convert the model again with a current converter.',
    (p) => `${p.source} has no metadata "${p.key}", expected ${p.expected}`,
  ),
} as const;
