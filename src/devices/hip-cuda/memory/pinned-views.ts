import type { HipCudaPinned } from './hip-cuda-pinned.ts';

/** Finds pinned memory by views of it; one buffer may have several pinned parts, as in a loader's ring. */
export class PinnedViews {
  readonly #byBuffer = new WeakMap<ArrayBufferLike, HipCudaPinned[]>();

  add(pinned: HipCudaPinned): HipCudaPinned {
    const { buffer } = pinned.bytes;
    const beside = this.#byBuffer.get(buffer);
    if (beside) beside.push(pinned);
    else this.#byBuffer.set(buffer, [pinned]);
    return pinned;
  }

  /** The pinned memory that contains the view. */
  find(bytes: Uint8Array): HipCudaPinned | undefined {
    return this.#byBuffer.get(bytes.buffer)?.find((pinned) => pinned.holds(bytes));
  }

  remove(pinned: HipCudaPinned): void {
    const beside = this.#byBuffer.get(pinned.buffer);
    beside?.splice(beside.indexOf(pinned), 1);
  }
}
