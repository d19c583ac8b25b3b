import {
  type KernelModule,
  kernelSource,
  moduleKey,
  HIP_CUDA_KERNELS,
} from '../../../src/devices/hip-cuda/index.ts';
import { ALL_CASES } from '../contract/cases/index.ts';
import { ISOLATION_CASES, isolationTestName } from '../contract/isolation.ts';
import type { OpCase } from '../contract/op-case.ts';
import { PACKED_ALIKE, packingTestName } from '../contract/packing.ts';
import { testName } from '../contract/operators.ts';
import { amdTarget } from './amd-targets.ts';
import { ALL_TEXTS } from './kernel-texts.ts';
import { caseGraph } from './lowered-modules.ts';

/** A module's identity apart from the values that it is compiled for: its file, and what it defines at all. */
function outlineOf({ file, defines }: KernelModule): string {
  return JSON.stringify([file, Object.keys(defines).sort()]);
}

/**
 * Selects tests for an emulated target, where a kernel takes longer to compile than to run: of the operators' cases, the first of each
 * operator and those with a kernel that no earlier case has with the same definitions, whatever their values; and all other tests, but
 * packing of the same formats once. A share of the others runs behind `npm test` in CI, the whole contract in `test:full`.
 */
export function everyKernelOnce(target: string): (test: string) => boolean {
  const met = new Set<string>();
  const operators = new Set<OpCase['op']>();
  const leftOut = ALL_CASES.filter((of) => {
    const outlines = HIP_CUDA_KERNELS.lower(caseGraph(of), amdTarget(target)).modules.map(outlineOf);
    const isNew = !operators.has(of.op) || outlines.some((outline) => !met.has(outline));
    operators.add(of.op);
    for (const outline of outlines) met.add(outline);
    return !isNew;
  });
  const names = new Set([...leftOut.map(testName), ...PACKED_ALIKE.map(packingTestName)]);
  return (test) => !names.has(test);
}

/** The text of matrix fragments, whose layout is specific to each target. */
const OWN_LAYOUT = 'matrix.h';

/** A module's identity apart from the format of its weights. */
function kindOf({ file, defines }: KernelModule): string {
  const { PACKED_FORMAT: _packed, FORMAT: _format, ...rest } = defines;
  return moduleKey({ file, defines: rest });
}

/**
 * Tests with kernels that differ from those of another target that has passed the whole contract: other texts or
 * definitions, or products with matrix instructions, which differ by target behind the same text. Decoding weights does
 * not differ, so kernels that differ only by format are represented by one.
 */
export function whatDiffers(target: string, from: string): (test: string) => boolean {
  const lowered = (of: OpCase, name: string) =>
    HIP_CUDA_KERNELS.lower(caseGraph(of), amdTarget(name)).modules;
  const known = new Set(ALL_CASES.flatMap((of) => lowered(of, from).map(moduleKey)));
  const ownKinds = (of: OpCase) =>
    lowered(of, target)
      .filter(
        (module) =>
          !known.has(moduleKey(module)) || kernelSource(module, ALL_TEXTS).includes(`"${OWN_LAYOUT}"`),
      )
      .map(kindOf);
  const met = new Set<string>();
  const bringsOne = (of: OpCase) => {
    const fresh = ownKinds(of).filter((kind) => !met.has(kind));
    for (const kind of fresh) met.add(kind);
    return fresh.length > 0;
  };
  const tests = new Set([
    ...ALL_CASES.filter(bringsOne).map(testName),
    ...ISOLATION_CASES.filter((of) => ownKinds(of).length > 0).map(isolationTestName),
  ]);
  return (test) => tests.has(test);
}
