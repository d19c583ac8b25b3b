import { type RopeTableOp, ropeFrequencies } from '../../../ops/index.ts';
import type { Frame } from '../frame.ts';

export function runRopeTable(op: RopeTableOp, frame: Frame): void {
  const { frequencies, magnitude } = ropeFrequencies(op.parameters);
  const factors = op.factors && frame.vector(op.factors);
  for (let row = 0; row < frame.rowsOf(op.out); row++) {
    const turns = new Float64Array(op.out.width);
    frequencies.forEach((frequency, i) => {
      const angle = (frame.matrix(op.positions).scalar(row) * frequency) / (factors?.[i] ?? 1);
      turns[2 * i] = magnitude * Math.cos(angle);
      turns[2 * i + 1] = magnitude * Math.sin(angle);
    });
    frame.matrix(op.out).write(row, turns);
  }
}
