import { fail } from '../base/errors.ts';

/** Throws `INVALID_ARGUMENT` unless this is a valid size for a buffer: a non-negative integer. */
export function checkByteLength(byteLength: number): void {
  if (Number.isSafeInteger(byteLength) && byteLength >= 0) return;
  fail('INVALID_ARGUMENT', { name: 'byteLength', found: `${byteLength}`, expected: 'a count of bytes' });
}
