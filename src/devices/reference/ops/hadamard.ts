import type { HadamardOp } from '../../../ops/index.ts';
import type { Frame } from '../frame.ts';

/** The sum as it is defined, without a butterfly. */
export function runHadamard({ x, size, out }: HadamardOp, frame: Frame): void {
  const scale = 1 / Math.sqrt(size);
  for (let row = 0; row < frame.rowsOf(out); row++) {
    const values = frame.matrix(x).read(row);
    const rotated = values.map((_, at) => {
      const start = at - (at % size);
      let sum = 0;
      for (let j = 0; j < size; j++) {
        const value = values[start + j] as number;
        sum += isOdd((at - start) & j) ? -value : value;
      }
      return sum * scale;
    });
    frame.matrix(out).write(row, rotated);
  }
}

/** True for an odd number of bits that are set. */
function isOdd(bits: number): boolean {
  let odd = false;
  for (let rest = bits; rest !== 0; rest &= rest - 1) odd = !odd;
  return odd;
}
