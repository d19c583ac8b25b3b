import assert from 'node:assert/strict';
import { test } from 'node:test';
import { modelCycles } from '../support/model-cycles.ts';
import { BUNDLED } from '../support/run-cli.ts';
import { NO_SOFTWARE_GPU } from '../support/software-gpu.ts';

test('two hundred lives of the bundled model on WebGPU', { skip: NO_SOFTWARE_GPU }, async (t) => {
  const size = { path: BUNDLED, device: 'webgpu', context: 64, batch: 1 };
  const { settled, end } = await modelCycles({ ...size, cycles: 200, settling: 20 });
  t.diagnostic(`after 20: ${JSON.stringify(settled)}; after 200: ${JSON.stringify(end)}`);
  assert.equal(end.descriptors, settled.descriptors);
  assert.ok(end.threads <= settled.threads);
  assert.ok(end.mebibytes - settled.mebibytes < 100);
});
