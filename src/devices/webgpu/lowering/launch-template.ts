import type { State, Tensor } from '../../../ops/index.ts';
import type { KernelModule } from '../launching/kernel-module.ts';
import type { WebGpuWeight } from './webgpu-weight.ts';

/** Memory that a launch refers to before buffers are known: bound values and weights, and the program's scratch. */
export type Place = Tensor | State | WebGpuWeight | 'scratch';

/** A range of a place. */
export interface PlacedArgument {
  readonly of: Place;
  readonly offset: number;
  readonly byteLength: number;
}

/** A kernel launch with `grid` workgroups. */
export interface LaunchTemplate {
  readonly module: KernelModule;
  readonly args: readonly PlacedArgument[];
  readonly grid: readonly [number, number, number];
}
