import { test } from 'node:test';
import { GPU_FEATURES } from '../../src/devices/webgpu/index.ts';
import { REFUSE_COPIES } from '../support/contract/cases/experts.ts';
import { testDeviceContract } from '../support/contract/index.ts';
import { SMALL_BINDING_BYTES, SMALL_BINDINGS_REFUSE } from '../support/contract/small-bindings.ts';
import { NO_SOFTWARE_GPU, openSoftwareGpu } from '../support/software-gpu.ts';

if (NO_SOFTWARE_GPU) test('the device contract on plain WebGPU', { skip: NO_SOFTWARE_GPU }, () => {});
else {
  testDeviceContract('webgpu without optional features', () => openSoftwareGpu({ without: GPU_FEATURES }), {
    unsupported: [REFUSE_COPIES],
  });
  testDeviceContract(
    'webgpu with small bindings',
    () => openSoftwareGpu({ bindingBytes: SMALL_BINDING_BYTES }),
    { unsupported: [REFUSE_COPIES, SMALL_BINDINGS_REFUSE] },
  );
}
