import { alignUp } from '../base/bytes.ts';
import type { Chunk } from './chunk.ts';

/** The range that is read for a chunk: its bytes, and around them what makes the range suit the source. */
export interface ReadWindow {
  readonly offset: number;
  readonly length: number;
  /** Where the chunk's bytes begin in it. */
  readonly lead: number;
}

/** The largest `readAlignment` that a source may have. */
const MAX_READ_ALIGNMENT = 4096;

/** Bytes that a window may be longer than its chunk. */
export const WINDOW_SLACK_BYTES = 2 * MAX_READ_ALIGNMENT;

/** The smallest range that holds a chunk and begins and ends where its source reads best. */
export function windowOf({ tensor, fileOffset, fileBytes }: Chunk): ReadWindow {
  const { readAlignment = 1, size } = tensor.source;
  const lead = fileOffset % readAlignment;
  const offset = fileOffset - lead;
  const end = Math.min(size, alignUp(fileOffset + fileBytes, readAlignment));
  return { offset, length: end - offset, lead };
}

/** Reads a chunk into the start of `into`; gives where its first row lies there. */
export async function readChunk(chunk: Chunk, into: Uint8Array, signal?: AbortSignal): Promise<number> {
  const { offset, length, lead } = windowOf(chunk);
  await chunk.tensor.source.read(offset, into.subarray(0, length), signal);
  return lead;
}
