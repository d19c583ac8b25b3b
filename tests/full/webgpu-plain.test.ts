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
    unsupported: [
      REFUSE_COPIES,
      {
        reason: 'matrices are split, activations and caches are not',
        tests: [
          /rmsNorm: 4096 wide/,
          /attention: .* f32, long/,
          /attention: .* (f32, 3 chosen blocks by head, long|f32 and q8_0, a row alone at 290)$/,
          /attention: .*heads of 256, f16, (a row alone at 700|long|prompts, window of 20, read by a product)$/,
          /attention: .*heads of (512, f16, prompts$|576, \w+, (mixed|prompts), latent)/,
          /compressCells: cells of 128, 160 wide, long/,
          /gatedDelta: .*, 4 on 2 in tiled, 128 x 128/,
          /selectiveScan: (?!a prompt).*, [24] x (64|80) .*states of (128|256)/,
          /(selectiveScan|wkv7): few of many slots, 2 x 64/,
          /sample: .*vocabulary of 32000/,
          /layer: .* 260 rows/,
          /matmul: Q4_K 21200 x 256, 33 rows/,
          /layer: gated delta net in (F32, heads of 64, prompts beside|Q8_0, heads of 128)/,
        ],
      },
    ],
  });
}
