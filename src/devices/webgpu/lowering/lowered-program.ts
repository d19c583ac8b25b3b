import type { LaunchTemplate } from './launch-template.ts';
import type { WebGpuWeight } from './webgpu-weight.ts';

/** A graph as launches whose memory is still symbolic. */
export interface LoweredProgram {
  readonly weights: readonly WebGpuWeight[];
  readonly scratchBytes: number;
  readonly templates: readonly LaunchTemplate[];
}
