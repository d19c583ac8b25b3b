import type { KernelModule, HipCudaTarget } from '../../../src/devices/hip-cuda/index.ts';
import type { KernelChoice } from './amd-compile.ts';
import { AMD_TARGETS } from './amd-targets.ts';
import { allModules } from './lowered-modules.ts';

/** The kernels of every target by file. */
async function kernelsByText(): Promise<Map<HipCudaTarget, Map<string, KernelModule[]>>> {
  const byText = async (target: HipCudaTarget) => {
    const texts = new Map<string, KernelModule[]>();
    for (const module of await allModules(target)) {
      texts.set(module.file, [...(texts.get(module.file) ?? []), module]);
    }
    return [target, texts] as const;
  };
  return new Map(await Promise.all(AMD_TARGETS.map(byText)));
}

/**
 * The kernels that a target compiles: the first of each file, and one in `oneIn` of its variants, distributed among the
 * targets that have it.
 */
export function dealtKernels(oneIn: number): KernelChoice {
  let lowered: ReturnType<typeof kernelsByText> | undefined;
  return async (target) => {
    lowered ??= kernelsByText();
    const kernels = await lowered;
    const texts = new Set([...kernels.values()].flatMap((of) => [...of.keys()]));
    return [...texts].flatMap((text, first) => {
      const targets = AMD_TARGETS.filter((known) => kernels.get(known)?.has(text));
      const own = kernels.get(target)?.get(text) ?? [];
      return own.filter(
        (_, i) => i % oneIn === 0 && targets[(first + i / oneIn) % targets.length] === target,
      );
    });
  };
}
