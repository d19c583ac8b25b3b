import type { HipCudaPinned } from './hip-cuda-pinned.ts';

/** Pinned memory by the views of it; one buffer may hold several pinned parts, as a loader's ring does. */
export class PinnedViews {
  readonly #byBuffer = new WeakMap<ArrayBufferLike, HipCudaPinned[]>();

  add(pinned: HipCudaPinned): HipCudaPinned {
    const { buffer } = pinned.bytes;
    const beside = this.#byBuffer.get(buffer);
    if (beside) beside.push(pinned);
    else this.#byBuffer.set(buffer, [pinned]);
    return pinned;
  }

  /** The pinned memory that the view lies within. */
  find(bytes: Uint8Array): HipCudaPinned | undefined {
    return this.#byBuffer.get(bytes.buffer)?.find((pinned) => pinned.holds(bytes));
  }

  remove(pinned: HipCudaPinned): void {
    const beside = this.#byBuffer.get(pinned.buffer);
    beside?.splice(beside.indexOf(pinned), 1);
  }
}
