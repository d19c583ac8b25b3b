import { kernelSource, moduleKey, HIP_CUDA_KERNELS } from '../../../src/devices/hip-cuda/index.ts';
import { ALL_CASES } from '../contract/cases/index.ts';
import { ISOLATION_CASES, isolationTestName } from '../contract/isolation.ts';
import type { OpCase } from '../contract/op-case.ts';
import { testName } from '../contract/operators.ts';
import { amdTarget } from './amd-targets.ts';
import { ALL_TEXTS } from './kernel-texts.ts';
import { caseGraph } from './lowered-modules.ts';

/** The parts of the device contract that test files hold, by the starts of their tests' names; `rest` is what no other holds. */
const PARTS = {
  products: /^(?:operator (?:matmul|matmulExperts): |packing: )/,
  attention: /^operator (?:attention|kvAppend): /,
  layers: /^(?:operator layer: |isolation: )/,
} as const;

/** A part of the device contract, small enough for a file of its own. */
export type ContractPart = keyof typeof PARTS | 'rest';

/** Whether a test belongs to a part. */
export function inPart(part: ContractPart): (test: string) => boolean {
  if (part !== 'rest') return (test) => PARTS[part].test(test);
  return (test) => !Object.values(PARTS).some((tests) => tests.test(test));
}

/** The text of matrix fragments, whose layout each target has of its own. */
const OWN_LAYOUT = 'matrix.h';

/**
 * The tests whose kernels are not those of another target that has passed the whole contract: other texts or definitions, or
 * products by matrix instructions, which are the target's own behind the same text.
 */
export function whatDiffers(target: string, from: string): (test: string) => boolean {
  const lowered = (of: OpCase, name: string) =>
    HIP_CUDA_KERNELS.lower(caseGraph(of), amdTarget(name)).modules;
  const known = new Set(ALL_CASES.flatMap((of) => lowered(of, from).map(moduleKey)));
  const differs = (of: OpCase) =>
    lowered(of, target).some(
      (module) =>
        !known.has(moduleKey(module)) || kernelSource(module, ALL_TEXTS).includes(`"${OWN_LAYOUT}"`),
    );
  const tests = new Set([
    ...ALL_CASES.filter(differs).map(testName),
    ...ISOLATION_CASES.filter(differs).map(isolationTestName),
  ]);
  return (test) => tests.has(test);
}
