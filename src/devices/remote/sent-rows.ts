import type { FileRows, RowCut } from '../../device/index.ts';
import type { Range } from '../../ops/index.ts';

/** Rows of a file of the other side, as they cross. */
export interface SentRows extends Omit<FileRows, 'tensor'> {
  /** The tensor's name. */
  readonly tensor: string;
}

/** Rows as they arrived. Throws for what is none, or for a cut that has not as many bytes. */
export function checkSentRows(found: unknown, bytes: number): SentRows {
  const { tensor, offset, cut } = (found ?? {}) as Partial<SentRows>;
  if (typeof tensor !== 'string' || !isCount(offset) || !(cut === undefined || isCut(cut, bytes))) {
    throw new RangeError('rows of a file are some of a tensor');
  }
  return { tensor, offset, cut };
}

function isCut({ stride, rows, bytes: pieces }: Partial<RowCut>, bytes: number): boolean {
  if (!isCount(stride) || !areRanges(rows) || !areRanges(pieces)) return false;
  if (pieces.some(({ end }) => end > stride)) return false;
  return lengthOf(rows) * lengthOf(pieces) === bytes;
}

function lengthOf(ranges: readonly Range[]): number {
  return ranges.reduce((sum, { start, end }) => sum + end - start, 0);
}

function areRanges(found: unknown): found is readonly Range[] {
  const isRange = ({ start, end }: Partial<Range>) => isCount(start) && isCount(end) && start <= end;
  return Array.isArray(found) && found.every((one: unknown) => isRange((one ?? {}) as Partial<Range>));
}

function isCount(found: unknown): found is number {
  return Number.isSafeInteger(found) && (found as number) >= 0;
}
