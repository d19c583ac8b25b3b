import { test } from 'node:test';
import { checkFailedCreations } from '../support/failed-creations.ts';
import { checkCycles } from '../support/load-cycles.ts';
import { NO_SOFTWARE_GPU, openSoftwareGpu } from '../support/software-gpu.ts';

test('a hundred models come and go, eight at once: WebGPU', { skip: NO_SOFTWARE_GPU }, async () => {
  await using device = await openSoftwareGpu();
  await checkCycles({ device, loads: 100, files: 4, rounds: 5 });
});

test('each creation of a load fails in its turn: WebGPU', { skip: NO_SOFTWARE_GPU }, async () => {
  await using device = await openSoftwareGpu();
  for (const load of ['eager', 'background'] as const) await checkFailedCreations(device, { load, step: 1 });
});
