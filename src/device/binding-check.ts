import { fail, invariant } from '../base/errors.ts';
import { stateBytes, tensorBytes } from '../ops/value.ts';
import type { BufferRange, DeviceBuffer } from './memory.ts';
import type { Bindings, Executable, Program } from './program.ts';
import { checkRange } from './range-check.ts';

/** Throws `BINDING` unless everything that the program's graph binds is present, aligned and large enough. */
export function checkBindings(program: Program, bindings: Bindings): void {
  const { graph } = program;
  const check = (value: string, range: BufferRange | undefined, byteLength: number) => {
    const use = { graph: graph.name, value };
    if (!range) fail('BINDING', { ...use, found: 'nothing', expected: `a range of ${byteLength} bytes` });
    checkRange(range, byteLength, use);
  };
  for (const tensor of graph.inputs) {
    check(`input ${tensor.name}`, bindings.values.get(tensor), tensorBytes(tensor, graph.shape));
  }
  for (const state of graph.states)
    check(`state ${state.name}`, bindings.values.get(state), stateBytes(state));
  for (const { name, tensor } of graph.outputs) {
    check(`output ${name}`, bindings.outputs.get(name), tensorBytes(tensor, graph.shape));
  }
  for (const weight of program.weights) {
    const names = weight.parts.map((part) => part.name).join(' + ');
    check(`weight ${names}`, bindings.weights.get(weight), weight.byteLength);
  }
  if (program.scratchBytes > 0) check('scratch', bindings.scratch, program.scratchBytes);
}

/** A range that `checkBindings` has checked. */
export function bound(range: BufferRange | undefined): BufferRange {
  invariant(range, 'checkBindings has seen every value that the program names');
  return range;
}

/** Every buffer in the bindings, once. */
export function boundBuffers({ values, outputs, weights, scratch }: Bindings): ReadonlySet<DeviceBuffer> {
  const ranges = [...values.values(), ...outputs.values(), ...weights.values()];
  return new Set([...ranges, ...(scratch ? [scratch] : [])].map(({ buffer }) => buffer));
}

/** Every buffer that executables are bound to, once. */
export function buffersOf(executables: readonly Executable[]): ReadonlySet<DeviceBuffer> {
  return new Set(executables.flatMap(({ buffers }) => [...buffers]));
}
