import { alignUp } from '../base/bytes.ts';
import type { Chunk } from './chunk.ts';

/** The range that is read for a chunk: its bytes, extended to the source's alignment. */
export interface ReadWindow {
  readonly offset: number;
  readonly length: number;
  /** Offset of the chunk's bytes in it. */
  readonly lead: number;
}

/** The largest `readAlignment` that a source may have. */
const MAX_READ_ALIGNMENT = 4096;

/** Maximum extra bytes of a window. */
export const WINDOW_SLACK_BYTES = 2 * MAX_READ_ALIGNMENT;

/** The smallest aligned range that contains a chunk. */
export function windowOf({ tensor, fileOffset, fileBytes }: Chunk): ReadWindow {
  const { readAlignment = 1, size } = tensor.source;
  const lead = fileOffset % readAlignment;
  const offset = fileOffset - lead;
  const end = Math.min(size, alignUp(fileOffset + fileBytes, readAlignment));
  return { offset, length: end - offset, lead };
}

/** Reads a chunk into the start of `into`; returns the offset of its first row. */
export async function readChunk(chunk: Chunk, into: Uint8Array, signal?: AbortSignal): Promise<number> {
  const { offset, length, lead } = windowOf(chunk);
  await chunk.tensor.source.read(offset, into.subarray(0, length), signal);
  return lead;
}
