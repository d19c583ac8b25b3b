import { fail } from '../base/errors.ts';

/** Throws `INVALID_ARGUMENT` unless a buffer can be so long: a whole number of bytes, none at least. */
export function checkByteLength(byteLength: number): void {
  if (Number.isSafeInteger(byteLength) && byteLength >= 0) return;
  fail('INVALID_ARGUMENT', { name: 'byteLength', found: `${byteLength}`, expected: 'a count of bytes' });
}
