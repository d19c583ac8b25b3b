import { halfToFloat } from '../../../src/base/half.ts';
import { matrixOver } from '../../../src/devices/reference/matrix.ts';
import { type ElementType, isBlockType, type State, stateBlockPlanes } from '../../../src/ops/index.ts';

/** The elements in stored bytes as numbers. */
export function elementsOf(bytes: Uint8Array, type: ElementType): Float64Array {
  const copy = bytes.slice().buffer;
  if (type === 'f16') return Float64Array.from(new Uint16Array(copy), (bits) => halfToFloat(bits));
  return Float64Array.from(type === 'i32' ? new Int32Array(copy) : new Float32Array(copy));
}

/** The elements in rows of a state as numbers. */
export function stateRows(bytes: Uint8Array, state: State, rows: readonly number[]): Float64Array {
  const stored = matrixOver(bytes.slice(), state);
  const elements = new Float64Array(rows.length * state.width);
  for (const [i, row] of rows.entries()) elements.set(stored.read(row), i * state.width);
  return elements;
}

/** The bytes of each row of a state; where there are both, quants followed by scales. */
export function stateRowBytes(bytes: Uint8Array, { type, rows, width }: State): Uint8Array[] {
  const planes = isBlockType(type) ? stateBlockPlanes(type, rows, width) : undefined;
  const first = planes?.scales ?? bytes.byteLength;
  return Array.from({ length: rows }, (_, row) => {
    const own = bytes.subarray((first / rows) * row, (first / rows) * (row + 1));
    if (!planes) return own;
    const at = first + row * planes.scaleBytes;
    return Buffer.concat([own, bytes.subarray(at, at + planes.scaleBytes)]);
  });
}

/** The tolerance of a single element, in units of `sqrt(limit) * rms`: a few standard deviations. */
const PEAK = 12;

/**
 * Describes how `actual` deviates, if it does: NaN and infinities must be where the reference has them, the squared
 * error of the rest must be below `limit` relative to the reference's squares, and no single element may be off by more
 * than a few times that.
 */
export function difference(actual: Float64Array, expected: Float64Array, limit: number): string | undefined {
  let error = 0;
  let square = 0;
  let peak = 0;
  let peakAt = 0;
  for (let i = 0; i < expected.length; i++) {
    const want = expected[i] as number;
    const have = actual[i] as number;
    if (
      Number.isFinite(want) !== Number.isFinite(have) ||
      (!Number.isFinite(want) && !Object.is(want, have))
    ) {
      return `element ${i} is ${have}, expected ${want}`;
    }
    if (!Number.isFinite(want)) continue;
    error += (have - want) ** 2;
    square += want ** 2;
    if (Math.abs(have - want) > peak) {
      peak = Math.abs(have - want);
      peakAt = i;
    }
  }
  const allowed = limit * square;
  const worst = `element ${peakAt} is ${actual[peakAt]}, expected ${expected[peakAt]}`;
  if (error > allowed) {
    return `normalized squared error ${(error / square).toExponential(2)} exceeds ${limit}; ${worst}`;
  }
  const bound = PEAK * Math.sqrt(allowed / Math.max(1, expected.length));
  return peak > bound ? `${worst}, further than ${bound.toExponential(2)}` : undefined;
}
