import type { KernelSet } from '../launching/kernel-set.ts';
import { lowerGraph } from './lower-graph.ts';
import { copiedRows } from './warpgroup-product.ts';

/** The kernels of `kernels/`: every operator, every format, fused where that saves memory traffic or launches. */
export const HIP_CUDA_KERNELS: KernelSet = { lower: lowerGraph, copiedRows };
