import { alignUp } from '../../../base/bytes.ts';
import { invariant } from '../../../base/errors.ts';

/** A run of free bytes. */
interface Gap {
  offset: number;
  end: number;
}

/**
 * Hands out ranges of one linear memory that may grow at its end. It takes the smallest gap that fits (best fit), so that
 * large gaps stay for large buffers, and joins neighbouring gaps on release. It holds offsets only, no memory.
 */
export class BankAllocator {
  readonly #alignment: number;
  /** By ascending offset; no two touch. */
  readonly #gaps: Gap[] = [];
  #end: number;

  /** `begin` is the first byte that may be handed out, rounded up to `alignment`; everything below stays reserved. */
  constructor(begin: number, alignment: number) {
    this.#alignment = alignment;
    this.#end = alignUp(begin, alignment);
  }

  /** Where the memory that is known to the allocator ends. */
  get end(): number {
    return this.#end;
  }

  /** Bytes in all gaps together. */
  get freeBytes(): number {
    return this.#gaps.reduce((sum, gap) => sum + gap.end - gap.offset, 0);
  }

  /** What a request takes: at least one unit of alignment, so that every range has an address of its own. */
  sizeOf(byteLength: number): number {
    return Math.max(this.#alignment, alignUp(byteLength, this.#alignment));
  }

  /** The offset of a fresh range, or undefined when no gap is large enough. */
  allocate(byteLength: number): number | undefined {
    const size = this.sizeOf(byteLength);
    let best = -1;
    let bestSize = Number.POSITIVE_INFINITY;
    for (const [index, gap] of this.#gaps.entries()) {
      const gapSize = gap.end - gap.offset;
      if (gapSize >= size && gapSize < bestSize) {
        best = index;
        bestSize = gapSize;
      }
    }
    const gap = this.#gaps[best];
    if (!gap) return undefined;
    const { offset } = gap;
    gap.offset += size;
    if (gap.offset === gap.end) this.#gaps.splice(best, 1);
    return offset;
  }

  /** Gives a range back. */
  release(offset: number, byteLength: number): void {
    this.#insert(offset, offset + this.sizeOf(byteLength));
  }

  /** How far the end must move so that `byteLength` fits, a gap at the end included. */
  missingBytes(byteLength: number): number {
    const last = this.#gaps.at(-1);
    const tail = last?.end === this.#end ? last.end - last.offset : 0;
    return Math.max(0, this.sizeOf(byteLength) - tail);
  }

  /** Makes the memory up to `end` available. */
  extend(end: number): void {
    const aligned = end - (end % this.#alignment);
    if (aligned <= this.#end) return;
    const from = this.#end;
    this.#end = aligned;
    this.#insert(from, aligned);
  }

  #insert(offset: number, end: number): void {
    let at = this.#gaps.findIndex((gap) => gap.offset >= offset);
    if (at < 0) at = this.#gaps.length;
    const before = this.#gaps[at - 1];
    const after = this.#gaps[at];
    invariant(!before || before.end <= offset, 'a range is released once');
    invariant(!after || end <= after.offset, 'a range is released once');
    const touchesBefore = before?.end === offset;
    const touchesAfter = after?.offset === end;
    if (touchesBefore && touchesAfter) {
      before.end = after.end;
      this.#gaps.splice(at, 1);
    } else if (touchesBefore) before.end = end;
    else if (touchesAfter) after.offset = offset;
    else this.#gaps.splice(at, 0, { offset, end });
  }
}
