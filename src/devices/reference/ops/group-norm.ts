import type { GroupNormOp, L2NormOp } from '../../../ops/index.ts';
import type { Frame } from '../frame.ts';
import { dot } from './dot.ts';

export function runGroupNorm(op: GroupNormOp, frame: Frame): void {
  const weight = frame.vector(op.weight);
  const bias = frame.vector(op.bias);
  for (let row = 0; row < frame.rowsOf(op.out); row++) {
    const values = frame.matrix(op.x).read(row);
    for (let start = 0; start < values.length; start += op.size) {
      const group = values.subarray(start, start + op.size);
      const mean = group.reduce((sum, value) => sum + value, 0) / op.size;
      const centred = group.map((value) => value - mean);
      const deviation = Math.sqrt(dot(centred, centred) / op.size + op.epsilon);
      group.set(
        centred.map(
          (value, i) => (value / deviation) * (weight[start + i] as number) + (bias[start + i] as number),
        ),
      );
    }
    frame.matrix(op.out).write(row, values);
  }
}

export function runL2Norm(op: L2NormOp, frame: Frame): void {
  for (let row = 0; row < frame.rowsOf(op.out); row++) {
    const values = frame.matrix(op.x).read(row);
    for (let start = 0; start < values.length; start += op.size) {
      const group = values.subarray(start, start + op.size);
      const square = dot(group, group);
      const length =
        op.by === 'rms' ? Math.sqrt(square / op.size + op.epsilon) : Math.max(op.epsilon, Math.sqrt(square));
      group.set(group.map((value) => value / length));
    }
    frame.matrix(op.out).write(row, values);
  }
}
