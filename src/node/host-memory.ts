/** Of the memory that is available, what one model may pin: pinned pages are lost to everybody else, as long as it is open. */
const SHARE = 0.5;

/** Host memory, in bytes, that may stay pinned for a model's streamed layers unless it is said. */
export function defaultHostMemory(): number {
  return Math.floor(SHARE * process.availableMemory());
}
