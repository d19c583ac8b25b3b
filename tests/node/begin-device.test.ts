import assert from 'node:assert/strict';
import { test } from 'node:test';
import { beginDevice } from '../../src/node/devices.ts';

test('a device that opens at once is described by itself', async () => {
  const { described, opened } = beginDevice({ device: 'null' });
  await using device = await opened;
  assert.equal(await described, device);
});

test('a device that cannot be opened is not described, and says why', async () => {
  for (const [device, code] of [
    ['null:1', 'DEVICE_UNAVAILABLE'],
    ['nonsense', 'INVALID_ARGUMENT'],
  ] as const) {
    const { described, opened } = beginDevice({ device });
    await assert.rejects(opened, { code });
    assert.equal(await described, undefined);
  }
});
