import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { loadKoffiFfi as LoadKoffiFfi } from '../../src/node/koffi-ffi.ts';

test('two copies of the package call native functions in one process', async () => {
  for (const copy of ['one', 'other']) {
    const { href } = new URL(`../../src/node/koffi-ffi.js?${copy}`, import.meta.url);
    const { loadKoffiFfi } = (await import(href)) as { loadKoffiFfi: typeof LoadKoffiFfi };
    const ffi = await loadKoffiFfi();
    using memory = ffi.allocate(16);
    memory.bytes.set([0x61, 0x62]);
    assert.equal(ffi.text(memory.address), 'ab');
  }
});
