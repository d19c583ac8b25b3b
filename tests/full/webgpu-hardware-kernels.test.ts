import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { hasExactHalves } from '../../src/devices/webgpu/exact-halves.ts';
import { openDawn } from '../../src/node/open-webgpu.ts';
import { ALL_CASES } from '../support/contract/cases/index.ts';
import { checkCase } from '../support/contract/operators.ts';
import { openAsHardware } from '../support/emulated-matrices.ts';
import { NO_SOFTWARE_GPU } from '../support/software-gpu.ts';

/** Kernels with loops over their own parts, and with conversions of f16. */
const CASES = [
  /^matmul (?:Q4_K|Q6_K) (?:18 x 256, 7|18 x 256, 33|261 x 256, 1) rows/,
  /^attention .* heads of 64, f16, (?:a row alone|long)/,
  /^attention .* heads of 192, f16, (?:a row alone|long)/,
  /^attention .* heads of 256, f16, (?:a row alone|long)/,
  /^layer llama layer, Q8_0, f16 cache, neox, 1 rows/,
  /^layer mixture .* Q4_0, 9 rows/,
  /^sample (?:temperature|top-k), vocabulary of 100/,
  /^selectiveScan few of many/,
];

describe('kernels as for hardware', { skip: NO_SOFTWARE_GPU }, () => {
  test('a software GPU converts every f16 number exactly', async () => {
    const gpu = await openDawn();
    const adapter = await gpu.requestAdapter();
    assert.ok(adapter);
    const device = await adapter.requestDevice();
    assert.equal(await hasExactHalves(device), true);
    device.destroy();
  });

  test('loops written out and the GPU’s own conversion compute what the operators mean', async () => {
    await using device = await openAsHardware();
    for (const pattern of CASES) {
      const cases = ALL_CASES.filter(({ op, name }) => pattern.test(`${op} ${name}`)).slice(0, 2);
      assert.ok(cases.length > 0, String(pattern));
      for (const of of cases) await checkCase(device, of, {});
    }
  });
});
