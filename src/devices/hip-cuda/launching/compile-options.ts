import type { HipCudaTarget } from './kernel-set.ts';

/** The target whose products of warpgroups are instructions of it alone, for which compilers want a letter. */
export const HOPPER = 'sm_90';

/**
 * The options of the run-time compiler. Contraction is off, so that decoders are exact; kernels that want a fused
 * multiply-add request it explicitly.
 */
export function compileOptions(
  { vendor, waveSize }: Pick<HipCudaTarget, 'vendor' | 'waveSize'>,
  fullTarget: string,
): string[] {
  const own = [`-DWAVE=${waveSize}`];
  return vendor === 'amd'
    ? [`--offload-arch=${fullTarget}`, '-std=c++17', '-O3', '-ffp-contract=off', ...own]
    : [
        `--gpu-architecture=${fullTarget === HOPPER ? `${HOPPER}a` : fullTarget}`,
        '--std=c++17',
        '--fmad=false',
        ...own,
      ];
}
