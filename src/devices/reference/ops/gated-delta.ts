import type { GatedDeltaOp } from '../../../ops/index.ts';
import type { Frame } from '../frame.ts';
import { dot } from './dot.ts';

export function runGatedDelta(op: GatedDeltaOp, frame: Frame): void {
  const { heads, keyHeads, keySize, valueSize, keyOrder, state, batch, out } = op;
  const size = valueSize * keySize;
  for (let row = 0; row < frame.rowsOf(out); row++) {
    const slot = frame.matrix(batch.slots).scalar(row);
    const begins = frame.matrix(batch.positions).scalar(row) === 0;
    const matrices = begins ? new Float64Array(state.width) : frame.matrix(state).read(slot);
    const [q, k, v] = [op.q, op.k, op.v].map((of) => frame.matrix(of).read(row)) as Rows;
    const [decay, beta] = [op.decay, op.beta].map((of) => frame.matrix(of).read(row)) as [
      Float64Array,
      Float64Array,
    ];
    const result = new Float64Array(out.width);
    for (let head = 0; head < heads; head++) {
      const keyHead = keyOrder === 'tiled' ? head % keyHeads : Math.floor((head * keyHeads) / heads);
      const [key, query] = [k, q].map((of) =>
        withLengthOne(of.subarray(keyHead * keySize, (keyHead + 1) * keySize), op.lengthEpsilon),
      ) as [Float64Array, Float64Array];
      const perKey = decay.length / heads;
      const factors = key.map((_, j) => Math.exp(decay[head * perKey + (j % perKey)] as number));
      for (let i = 0; i < valueSize; i++) {
        const line = matrices.subarray(head * size + i * keySize, head * size + (i + 1) * keySize);
        line.forEach((value, j) => (line[j] = value * (factors[j] as number)));
        const value = head * valueSize + i;
        const delta = (beta[head] as number) * ((v[value] as number) - dot(line, key));
        line.forEach((kept, j) => (line[j] = kept + delta * (key[j] as number)));
        result[value] = op.scale * dot(line, query);
      }
    }
    frame.matrix(state).write(slot, matrices);
    frame.matrix(out).write(row, result);
  }
}

type Rows = [q: Float64Array, k: Float64Array, v: Float64Array];

function withLengthOne(x: Float64Array, epsilon: number): Float64Array {
  const length = Math.sqrt(dot(x, x) + epsilon);
  return x.map((value) => value / length);
}
