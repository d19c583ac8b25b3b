/** Bytes of weights per chunk: enough to amortize handing it out, and small enough for a core's private cache ... */
export const MAX_CHUNK = 128 * 1024;

/** ... while a smaller one costs more to hand out than it gains in balance. */
export const MIN_CHUNK = 32 * 1024;

/** Chunks per thread, so that other threads can take over from a slow one. */
export const CHUNKS_PER_THREAD = 4;

/** Bytes of weights of the last chunks of many rows, each of which makes them as much work as this many times its bytes. */
export const LEAST_CHUNK = 16 * 1024;
