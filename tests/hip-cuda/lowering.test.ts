import { test } from 'node:test';
import { HIP_CUDA_KERNELS } from '../../src/devices/hip-cuda/index.ts';
import { checkOneLayout } from '../support/layer-graphs.ts';
import { AMD_TARGETS } from '../support/hip-cuda/amd-targets.ts';

for (const target of AMD_TARGETS) {
  test(`plans of all capacities want their weights in one layout on ${target.name}`, () =>
    checkOneLayout((graph) => HIP_CUDA_KERNELS.lower(graph, target).weights));
}
