import type { Temporary } from '../../../device/index.ts';
import type { State, Tensor, Weight } from '../../../ops/index.ts';
import type { GpuTarget } from '../gpu-target.ts';
import type { Wgsl } from '../kernels/library/wgsl.ts';
import type { Access, Constant } from '../launching/kernel-module.ts';
import type { WebGpuWeight, WeightChunk } from './webgpu-weight.ts';
import type { WeightLayout } from './weight-layout.ts';

/** A chunk of a packed weight. */
export interface ChunkOperand {
  readonly kind: 'chunk';
  readonly weight: WebGpuWeight;
  readonly chunk: WeightChunk;
}

/** Memory as referred to by operators. */
export type Operand = Tensor | State | Temporary | ChunkOperand;

/** An argument: the memory, its WGSL type, and how the kernel uses it. */
export interface Argument {
  readonly operand: Operand;
  readonly type: string;
  readonly access: Access;
}

/** A launch before its scratch is placed. `args` are by their names in the texts. */
export interface LaunchPlan {
  readonly name: string;
  readonly texts: readonly Wgsl[];
  readonly constants?: Readonly<Record<string, Constant>>;
  readonly args: Readonly<Record<string, Argument>>;
  readonly grid: readonly [number, number?, number?];
}

/** Memory that a kernel does not modify. */
export function read(operand: Operand, type = 'array<f32>'): Argument {
  return { operand, type, access: 'read' };
}

/** Memory that a kernel writes. */
export function write(operand: Operand, type = 'array<f32>'): Argument {
  return { operand, type, access: 'write' };
}

/** The interface for planning the launches of a graph. */
export interface LaunchScope {
  readonly target: GpuTarget;
  /** Row capacity of a tensor. */
  capacity(tensor: Tensor): number;
  /** The numbers of rows in use: `counts[COUNT]` in the texts. */
  readonly counts: Argument;
  /** Which of the counts is the number of a tensor's rows in use, for the constant `COUNT`. */
  countOf(tensor: Tensor): number;
  /** Scratch of that many bytes. */
  temporary(byteLength: number): Temporary;
  /** A weight of one chunk, as an argument. */
  vector(weight: Weight, layout: WeightLayout): Argument;
  /** Weights one after another in one chunk, as an argument. */
  vectors(weights: readonly Weight[], layout: WeightLayout): Argument;
  launch(plan: LaunchPlan): void;
}
