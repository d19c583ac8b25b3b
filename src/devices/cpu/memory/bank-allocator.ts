import { alignUp } from '../../../base/bytes.ts';
import { invariant } from '../../../base/errors.ts';

/** A contiguous range of free bytes. */
interface Gap {
  offset: number;
  end: number;
}

/**
 * Allocates ranges of one linear memory that may grow at its end. It uses the smallest gap that fits (best fit), so
 * that large gaps remain for large buffers, and merges neighbouring gaps on release. It tracks offsets only and holds
 * no memory.
 */
export class BankAllocator {
  readonly #alignment: number;
  /** In ascending order of offset; no two touch. */
  readonly #gaps: Gap[] = [];
  #end: number;

  /** `begin` is the first byte that may be allocated, rounded up to `alignment`; everything below stays reserved. */
  constructor(begin: number, alignment: number) {
    this.#alignment = alignment;
    this.#end = alignUp(begin, alignment);
  }

  /** The end of the memory that the allocator knows. */
  get end(): number {
    return this.#end;
  }

  /** Total bytes of all gaps. */
  get freeBytes(): number {
    return this.#gaps.reduce((sum, gap) => sum + gap.end - gap.offset, 0);
  }

  /** Bytes that a request takes: at least one unit of alignment, so that every range has a distinct address. */
  sizeOf(byteLength: number): number {
    return Math.max(this.#alignment, alignUp(byteLength, this.#alignment));
  }

  /** The offset of a new range, or undefined if no gap is large enough. */
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

  /** Frees a range. */
  release(offset: number, byteLength: number): void {
    this.#insert(offset, offset + this.sizeOf(byteLength));
  }

  /** How far the end must move for `byteLength` to fit, including a gap at the end. */
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
