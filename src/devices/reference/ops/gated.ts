import { type GatedFunction, type GatedOp, SWIGLU_OAI_LIMIT } from '../../../ops/index.ts';
import type { Frame } from '../frame.ts';
import { activation } from './activation.ts';

export function runGated(op: GatedOp, frame: Frame): void {
  const fn = gatedFunction(op.fn);
  for (let row = 0; row < frame.rowsOf(op.out); row++) {
    const up = frame.matrix(op.up).read(row);
    const gate = frame.matrix(op.gate).read(row);
    const gated = up.map((value, i) => fn(gate[i] as number, value));
    frame.matrix(op.out).write(row, gated);
  }
}

function gatedFunction(name: GatedFunction): (gate: number, up: number) => number {
  if (name === 'swiglu_oai') return swigluOai;
  const fn = activation(name);
  return (gate, up) => fn(gate) * up;
}

function swigluOai(gate: number, up: number): number {
  const clamped = Math.max(-SWIGLU_OAI_LIMIT, Math.min(up, SWIGLU_OAI_LIMIT));
  return activation('gelu_quick')(Math.min(gate, SWIGLU_OAI_LIMIT)) * (1 + clamped);
}
