import { fail } from '../base/errors.ts';
import { BUFFER_ALIGNMENT, type BufferRange } from './memory.ts';

/** Where a range is used, for the message: the name of the graph or the stream, and of the value. */
export interface RangeUse {
  readonly graph: string;
  readonly value: string;
}

/** Throws `BINDING` unless the range is aligned, lies within its buffer and holds at least `byteLength` bytes. */
export function checkRange(range: BufferRange, byteLength: number, use: RangeUse): void {
  const { buffer, offset } = range;
  const whole = Number.isSafeInteger(offset) && Number.isSafeInteger(range.byteLength);
  if (!whole || offset < 0 || offset % BUFFER_ALIGNMENT !== 0) {
    fail('BINDING', { ...use, found: `offset ${offset}`, expected: `a multiple of ${BUFFER_ALIGNMENT}` });
  }
  if (range.byteLength < 0 || offset + range.byteLength > buffer.byteLength) {
    fail('BINDING', {
      ...use,
      found: `bytes ${offset} to ${offset + range.byteLength}`,
      expected: `a range within the ${buffer.byteLength} bytes of ${buffer.label}`,
    });
  }
  if (range.byteLength < byteLength) {
    fail('BINDING', { ...use, found: `${range.byteLength} bytes`, expected: `at least ${byteLength}` });
  }
}

/** Throws `BINDING` unless source and target of a copy have the same size. */
export function checkCopySizes(source: BufferRange, target: BufferRange, stream: string): void {
  if (source.byteLength === target.byteLength) return;
  const found = `${target.byteLength} bytes`;
  const expected = `the source's ${source.byteLength}`;
  fail('BINDING', { graph: stream, value: 'copy target', found, expected });
}
