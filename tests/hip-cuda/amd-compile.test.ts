import type { KernelModule, HipCudaTarget } from '../../src/devices/hip-cuda/index.ts';
import { testClang, testHiprtc } from '../support/hip-cuda/amd-compile.ts';
import { AMD_TARGETS } from '../support/hip-cuda/amd-targets.ts';
import { allModules, modelModules } from '../support/hip-cuda/lowered-modules.ts';

/** Of what a text's definitions make of it, one in so many is compiled. */
const ONE_IN = 6;

/** The kernels of every target by their texts. */
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

let lowered: ReturnType<typeof kernelsByText> | undefined;

/** What a target compiles: each text's first kernel and one in so many of its others, dealt out to the targets that have it. */
async function dealt(target: HipCudaTarget): Promise<KernelModule[]> {
  lowered ??= kernelsByText();
  const kernels = await lowered;
  const texts = new Set([...kernels.values()].flatMap((of) => [...of.keys()]));
  return [...texts].flatMap((text, first) => {
    const targets = AMD_TARGETS.filter((known) => kernels.get(known)?.has(text));
    const own = kernels.get(target)?.get(text) ?? [];
    return own.filter(
      (_, i) => i % ONE_IN === 0 && targets[(first + i / ONE_IN) % targets.length] === target,
    );
  });
}

// Every text is compiled by clang for a target, and a few kernels by hipRTC, which goes the way that users' kernels go;
// tests/full/ compiles every kernel for every target.
testClang(dealt);
testHiprtc(async (target, order) => (await modelModules(target)).filter((_, i) => i % 12 === order));
