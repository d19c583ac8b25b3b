import type { Tensor } from '../../../ops/index.ts';
import type { Lowering } from './lowering.ts';

/** Rows that a recurrence's kernel computes together as products of matrices, and lines of a head's state that a block takes. */
export interface RecurrenceChunk {
  readonly rows: number;
  readonly slice: number;
}

/** A recurrence whose rows may be chunked. */
interface Chunked {
  readonly out: Tensor;
  /** Values of a line of a head's state, and lines of a head. */
  readonly lineSize: number;
  readonly lines: number;
  /** Bytes of the kernel's `Shared`. */
  readonly bytes: (chunk: RecurrenceChunk) => number;
}

/** The chunks for which kernels are compiled, best first: the smaller one fits in 64 KiB. */
const CHUNKS: readonly RecurrenceChunk[] = [
  { rows: 64, slice: 32 },
  { rows: 32, slice: 16 },
];
/** With fewer rows in a step, or one for each slot, chunks would be mostly empty. */
const MIN_CHUNKED_ROWS = 32;
/** Rows of a sequence that take as long one after another as a chunk does. */
const SHORT_ROWS = 8;

/** The largest chunk that fits on the target, if the step has rows for chunks. */
export function chunkFor(
  { out, lineSize, lines, bytes }: Chunked,
  to: Lowering,
): RecurrenceChunk | undefined {
  const rows = to.capacity(out);
  if (rows < MIN_CHUNKED_ROWS || rows <= to.graph.shape.slots) return undefined;
  return CHUNKS.find(
    (chunk) =>
      lineSize % lineUnit(chunk) === 0 &&
      lines % chunk.slice === 0 &&
      bytes(chunk) <= to.target.sharedBytesOptIn,
  );
}

/** Lines are whole lanes of a warp, and whole tiles of eight columns for each of a block's warps. */
function lineUnit({ rows }: RecurrenceChunk): number {
  return Math.max(32, rows);
}

/** Slots with fewer rows together go row after row; with one slot, none do. */
export function shortRowsOf(chunk: RecurrenceChunk | undefined, to: Lowering): number {
  return chunk && to.graph.shape.slots > 1 ? SHORT_ROWS : 0;
}
