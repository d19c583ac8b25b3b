import type { LayerNormOp } from '../../../ops/index.ts';
import type { Frame } from '../frame.ts';
import { dot } from './dot.ts';

export function runLayerNorm(op: LayerNormOp, frame: Frame): void {
  const factors = frame.vector(op.weight);
  const bias = op.bias && frame.vector(op.bias);
  for (let row = 0; row < frame.rowsOf(op.out); row++) {
    const values = frame.matrix(op.x).read(row);
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
    const centred = values.map((value) => value - mean);
    const deviation = Math.sqrt(dot(centred, centred) / centred.length + op.epsilon);
    const normed = centred.map((value, i) => (value / deviation) * (factors[i] as number) + (bias?.[i] ?? 0));
    frame.matrix(op.out).write(row, normed);
  }
}
