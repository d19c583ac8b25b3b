import type { KernelSet } from '../launching/kernel-set.ts';
import { lowerGraph } from './lower-graph.ts';

/** The kernels of `kernels/`: every operator, every format, fused where that saves memory traffic or launches. */
export const NATIVE_KERNELS: KernelSet = { lower: lowerGraph };
