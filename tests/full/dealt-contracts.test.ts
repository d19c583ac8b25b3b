import { test } from 'node:test';
import { ALL_CASES } from '../support/contract/cases/index.ts';
import { REFUSE_COPIES } from '../support/contract/cases/experts.ts';
import { testDeviceContract } from '../support/contract/index.ts';
import { testName } from '../support/contract/operators.ts';
import { PACKED_ALIKE, packingTestName } from '../support/contract/packing.ts';
import { testOtherCpuContracts } from '../support/cpu-contract.ts';
import { dealtShare, SHARE_NAME } from '../support/dealt-share.ts';
import { everyKernelOnce } from '../support/hip-cuda/contract-cases.ts';
import { testEmulatedContract } from '../support/hip-cuda/emulated-contract.ts';
import { NO_SOFTWARE_GPU, openSoftwareGpu } from '../support/software-gpu.ts';
import { everyKernelOnce as everyWebGpuKernelOnce } from '../support/webgpu-contract.ts';

const ALL_NAMES = [...ALL_CASES.map(testName), ...PACKED_ALIKE.map(packingTestName)];

/** Of the operators' and packing's cases that `npm test` leaves out, a share. */
function dealtTo(known: (test: string) => boolean): (test: string) => boolean {
  const names = new Set(dealtShare(ALL_NAMES.filter((name) => !known(name))));
  return (name) => names.has(name);
}

// Their kernels have the same bits wherever `devices/cpu/cpu-results` compares them.
const operators = new Set(ALL_CASES.map(testName));
const dealt = new Set(dealtShare([...operators]));
await testOtherCpuContracts((name) => !operators.has(name) || dealt.has(name));

await testEmulatedContract('gfx1100', dealtTo(everyKernelOnce('gfx1100')));
if (NO_SOFTWARE_GPU) test(`the contract on WebGPU, ${SHARE_NAME}`, { skip: NO_SOFTWARE_GPU }, () => {});
else {
  const only = dealtTo(await everyWebGpuKernelOnce());
  testDeviceContract(`webgpu, ${SHARE_NAME}`, () => openSoftwareGpu(), {
    only,
    unsupported: [REFUSE_COPIES],
  });
}
