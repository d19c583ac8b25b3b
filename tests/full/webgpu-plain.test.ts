import { test } from 'node:test';
import { GPU_FEATURES } from '../../src/devices/webgpu/index.ts';
import { REFUSE_COPIES } from '../support/contract/cases/experts.ts';
import { testDeviceContract } from '../support/contract/index.ts';
import { NO_SOFTWARE_GPU, openSoftwareGpu } from '../support/software-gpu.ts';

if (NO_SOFTWARE_GPU) test('the device contract on plain WebGPU', { skip: NO_SOFTWARE_GPU }, () => {});
else {
  testDeviceContract('webgpu without optional features', () => openSoftwareGpu({ without: GPU_FEATURES }), {
    unsupported: [REFUSE_COPIES],
  });
  testDeviceContract('webgpu with small bindings', () => openSoftwareGpu({ bindingBytes: 300 << 10 }), {
    skip: [{ reason: 'its scratch is larger than a binding', tests: [/packing: .* 260 rows/] }],
    unsupported: [
      REFUSE_COPIES,
      {
        reason: 'matrices are split, activations and caches are not',
        tests: [
          /rmsNorm: 4096 wide/,
          /attention: .* f32, long/,
          /sample: .*vocabulary of 32000/,
          /layer: .* 260 rows/,
        ],
      },
    ],
  });
}
