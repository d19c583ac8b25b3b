import {
  type KernelModule,
  kernelSource,
  moduleKey,
  HIP_CUDA_KERNELS,
} from '../../../src/devices/hip-cuda/index.ts';
import { ALL_CASES } from '../contract/cases/index.ts';
import { ISOLATION_CASES, isolationTestName } from '../contract/isolation.ts';
import type { OpCase } from '../contract/op-case.ts';
import { testName } from '../contract/operators.ts';
import { amdTarget } from './amd-targets.ts';
import { ALL_TEXTS } from './kernel-texts.ts';
import { caseGraph } from './lowered-modules.ts';

/** The parts of the device contract that test files run, by prefixes of test names; `rest` is everything else. */
const PARTS = {
  products: /^(?:operator (?:matmul|matmulHeads|matmulExperts): |packing: )/,
  attention: /^operator (?:attention|kvAppend): /,
  layers: /^(?:operator layer: |isolation: )/,
} as const;

/** A part of the device contract, small enough for one file. */
export type ContractPart = keyof typeof PARTS | 'rest';

/** Selects the tests of a part. */
export function inPart(part: ContractPart): (test: string) => boolean {
  if (part !== 'rest') return (test) => PARTS[part].test(test);
  return (test) => !Object.values(PARTS).some((tests) => tests.test(test));
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
