import { chooseTarget, type GpuTarget } from '../../src/devices/webgpu/gpu-target.ts';
import type { KernelModule } from '../../src/devices/webgpu/launching/kernel-module.ts';
import { moduleText } from '../../src/devices/webgpu/launching/kernel-module.ts';
import { lowerGraph } from '../../src/devices/webgpu/lowering/lower-graph.ts';
import { openDawn } from '../../src/node/open-webgpu.ts';
import { REFUSE_COPIES } from './contract/cases/experts.ts';
import { ALL_CASES, PACKING_CASES } from './contract/cases/index.ts';
import { selected } from './contract/contract-options.ts';
import { ISOLATION_CASES } from './contract/isolation.ts';
import type { OpCase } from './contract/op-case.ts';
import { PACKED_ALIKE, packingTestName } from './contract/packing.ts';
import { testName } from './contract/operators.ts';
import { caseGraph } from './hip-cuda/lowered-modules.ts';

function textOf(module: KernelModule): string {
  return moduleText(
    module,
    module.parameters.map(({ access }) => access),
  );
}

/**
 * Selects the tests of the device contract for a software GPU, whose driver takes longer to compile a kernel than to
 * run it: of the operators' cases, those with a kernel that no other case has, whatever it is compiled for, and those whose
 * kernels are already compiled; and packing of the same formats once. A share of the others runs behind `npm test` in CI, the whole contract in `test:full`.
 */
export async function everyKernelOnce(): Promise<(test: string) => boolean> {
  const target = await softwareTarget();
  const known = casesOfKnownKernels(target).map(testName);
  const leftOut = new Set([...known, ...PACKED_ALIKE.map(packingTestName)]);
  return (test) => !leftOut.has(test);
}

/** What kernels are compiled for on the software GPU, with bindings of so many bytes. */
export async function softwareTarget(bindingBytes?: number): Promise<GpuTarget> {
  const gpu = await openDawn();
  const adapter = await gpu.requestAdapter();
  if (!adapter) throw new Error('there is no adapter');
  const features = gpu.wgslLanguageFeatures ?? new Set();
  return chooseTarget(adapter, features, { without: [], bindingBytes }).target;
}

/** The cases whose kernels differ only in their constants and formats from those of other cases, including the packing cases that run. */
function casesOfKnownKernels(target: GpuTarget): OpCase[] {
  const texts = new Set<string>();
  const names = new Set<string>();
  const operators = new Set<OpCase['op']>();
  const compile = (modules: readonly KernelModule[]) => {
    for (const module of modules) {
      texts.add(textOf(module));
      names.add(module.name);
    }
  };
  const modulesOf = (of: OpCase) => lowerGraph(caseGraph(of), target).templates.map(({ module }) => module);
  const packed = PACKING_CASES.filter((of) => !PACKED_ALIKE.includes(of));
  for (const of of [...packed, ...ISOLATION_CASES]) compile(modulesOf(of));
  return ALL_CASES.filter((of) => {
    if (selected([REFUSE_COPIES], testName(of))) return false;
    const modules = modulesOf(of);
    const isFirst = !operators.has(of.op);
    operators.add(of.op);
    const isNew = modules.some((module) => !names.has(module.name));
    if (!isFirst && !isNew && modules.some((module) => !texts.has(textOf(module)))) return true;
    compile(modules);
    return false;
  });
}
