import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lowerGraph } from '../../src/devices/webgpu/lowering/lower-graph.ts';
import { REFUSE_COPIES } from '../support/contract/cases/experts.ts';
import { ALL_CASES } from '../support/contract/cases/index.ts';
import { selected } from '../support/contract/contract-options.ts';
import { testDeviceContract } from '../support/contract/index.ts';
import { testName } from '../support/contract/operators.ts';
import { SMALL_BINDING_BYTES, SMALL_BINDINGS_REFUSE } from '../support/contract/small-bindings.ts';
import { caseGraph } from '../support/hip-cuda/lowered-modules.ts';
import { NO_SOFTWARE_GPU, openSoftwareGpu } from '../support/software-gpu.ts';
import { everyKernelOnce, softwareTarget } from '../support/webgpu-contract.ts';

if (NO_SOFTWARE_GPU) test('the device contract on WebGPU', { skip: NO_SOFTWARE_GPU }, () => {});
else {
  const only = await everyKernelOnce();
  testDeviceContract('webgpu', () => openSoftwareGpu(), { only, unsupported: [REFUSE_COPIES] });

  test('with small bindings, what is refused is known by name', async () => {
    const target = await softwareTarget(SMALL_BINDING_BYTES);
    for (const of of ALL_CASES) {
      const name = testName(of);
      const lower = () => lowerGraph(caseGraph(of), target);
      if (!selected([REFUSE_COPIES, SMALL_BINDINGS_REFUSE], name)) assert.doesNotThrow(lower, name);
      else assert.throws(lower, { code: 'OP_UNSUPPORTED' }, name);
    }
  });
}
