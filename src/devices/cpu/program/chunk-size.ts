/** Bytes of weights in a chunk: enough to pay for being handed out, and still fitting into a core's own cache ... */
export const MAX_CHUNK = 128 * 1024;

/** ... while a smaller one costs more to hand out than it gains in balance. */
export const MIN_CHUNK = 32 * 1024;

/** Chunks for each thread, so that a slow one can be helped out. */
export const CHUNKS_PER_THREAD = 4;
