import type { HipCudaTarget } from './kernel-set.ts';

/**
 * What the run-time compiler is told. Contraction is off, so that decoders are exact; where kernels want a fused
 * multiply-add, they say so.
 */
export function compileOptions(
  { vendor, waveSize }: Pick<HipCudaTarget, 'vendor' | 'waveSize'>,
  fullTarget: string,
): string[] {
  const own = [`-DWAVE=${waveSize}`];
  return vendor === 'amd'
    ? [`--offload-arch=${fullTarget}`, '-std=c++17', '-O3', '-ffp-contract=off', ...own]
    : [`--gpu-architecture=${fullTarget}`, '--std=c++17', '--fmad=false', ...own];
}
