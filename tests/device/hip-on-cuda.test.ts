import { test } from 'node:test';
import { buildForwarding } from '../support/forwarding/build-forwarding.ts';
import { testHardware } from '../support/hip-cuda/hardware.ts';

// HIP's call paths on an NVIDIA card: the libraries are compiled everywhere where CUDA's header is, and used where a card is.
const built = buildForwarding();
if ('reason' in built) test('HIP over CUDA', { skip: built.reason }, () => {});
else await testHardware('hip', { name: 'hip over cuda', driver: [built.hip], compiler: [built.hiprtc] });
