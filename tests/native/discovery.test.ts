import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadKoffiFfi } from '../../src/node/koffi-ffi.ts';
import { reportNativeDevices } from '../../src/node/native-devices.ts';
import { emulatedTests, STATUS } from '../support/native/emulator.ts';

const emulated = await emulatedTests('gfx942');

emulated('is listed with its facts', async ({ library, platform }) => {
  const [found, cuda] = reportNativeDevices(platform.ffi, { hip: [library.file], cuda: ['libnowhere.so.1'] });
  assert.deepEqual(found, {
    backend: 'hip',
    index: 0,
    name: 'Emulated gfx942:sramecc+:xnack-',
    details: {
      target: 'gfx942:sramecc+:xnack-',
      bus: '0000:00:00.0',
      multiprocessors: 2,
      driver: '7.0.51831',
      library: library.file,
    },
    memory: { free: 4 * 2 ** 30, total: 4 * 2 ** 30 },
  });
  assert.equal(cuda?.backend, 'cuda');
  assert.match(cuda?.error ?? '', /libnowhere\.so\.1 was not found\. Install the GPU driver/);
});

emulated('that cannot be opened is listed with the reason', async ({ library, platform, control }) => {
  control.failCall('hipMemGetInfo', 1, STATUS.invalidHandle);
  const [found] = reportNativeDevices(platform.ffi, { hip: [library.file] });
  assert.match(found?.error ?? '', /device hip:0: memory info gave status 400, hipErrorInvalidHandle/);
  control.failCall('hipInit', 1, 100);
  const [none] = reportNativeDevices(platform.ffi, { hip: ['libnowhere.so.1', library.file] });
  assert.deepEqual(Object.keys(none ?? {}), ['backend', 'error']);
  assert.match(none?.error ?? '', /device hip is not available: .*hipErrorNoDevice.*group render/);
});

test('a machine without drivers has two reasons and no crash', async () => {
  const ffi = await loadKoffiFfi();
  const reports = reportNativeDevices(ffi, { hip: ['libnone-a.so'], cuda: ['libnone-b.so'] });
  assert.deepEqual(
    reports.map(({ backend, error }) => [backend, error !== undefined]),
    [
      ['hip', true],
      ['cuda', true],
    ],
  );
});
