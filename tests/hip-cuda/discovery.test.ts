import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openHipCuda } from '../../src/node/open-hip-cuda.ts';
import { reportHipCudaDevices } from '../../src/node/hip-cuda-devices.ts';
import { emulatedTests, STATUS } from '../support/hip-cuda/emulator.ts';

const emulated = await emulatedTests('gfx942');

emulated('is listed with its facts', async ({ library, compilers }) => {
  const [found] = await reportHipCudaDevices('hip', { driver: [library.file], compiler: compilers.hip });
  assert.deepEqual(found, {
    device: 'hip:0',
    backend: 'hip',
    name: 'Emulated gfx942:sramecc+:xnack-',
    details: {
      target: 'gfx942:sramecc+:xnack-',
      bus: '0000:00:00.0',
      multiprocessors: 304,
      driver: '7.0.51831',
      library: library.file,
      compiler: `hiprtc 7.0 (${compilers.hip[0]})`,
    },
    memory: { free: 4 * 2 ** 30, total: 4 * 2 ** 30 },
  });
});

emulated('that cannot be opened is listed with the reason', async ({ library, control }) => {
  control.failCall('hipMemGetInfo', 1, STATUS.invalidHandle);
  const [found] = await reportHipCudaDevices('hip', { driver: [library.file] });
  assert.match(found?.error ?? '', /device hip:0: memory info returned status 400, hipErrorInvalidHandle/);
  control.failCall('hipInit', 1, 100);
  const [none] = await reportHipCudaDevices('hip', { driver: ['libnowhere.so.1', library.file] });
  assert.deepEqual(Object.keys(none ?? {}), ['device', 'backend', 'error']);
  assert.match(none?.error ?? '', /device hip is not available: .*hipErrorNoDevice.*group render/);
});

emulated('without a compiler is not opened, so that `auto` goes on to the next', async ({ library }) => {
  const places = { driver: [library.file], compiler: ['libnowhere.so.1'] };
  await assert.rejects(openHipCuda({ driver: 'hip', index: 0, places }), {
    code: 'DEVICE_UNAVAILABLE',
    message: /its kernels cannot be compiled: .*libnowhere\.so\.1 was not found/,
  });
});

for (const backend of ['hip', 'cuda'] as const) {
  test(`a machine without a ${backend} driver has one reason and no crash`, async () => {
    const reports = await reportHipCudaDevices(backend, { driver: ['libnowhere.so.1'] });
    assert.deepEqual(
      reports.map((report) => [report.device, report.backend]),
      [[backend, backend]],
    );
    assert.match(reports[0]?.error ?? '', /libnowhere\.so\.1 was not found\. Install the GPU driver/);
  });
}
