import { test } from 'node:test';
import { openReferenceDevice } from '../../src/devices/reference/index.ts';
import { emulatedTests } from '../support/hip-cuda/emulator.ts';
import { NO_SOFTWARE_GPU, openSoftwareGpu } from '../support/software-gpu.ts';
import { checkWeightBudget } from '../support/weight-budget.ts';

const emulated = await emulatedTests('gfx1100');

test('the bundled model in 40 % of its size says the same: reference', () =>
  checkWeightBudget(async () => openReferenceDevice(), 2));

emulated('the bundled model in 40 % of its size says the same', (emulator) =>
  checkWeightBudget(async () => emulator.device(), 2),
);

test('the bundled model in 40 % of its size says the same: WebGPU', { skip: NO_SOFTWARE_GPU }, () =>
  checkWeightBudget(() => openSoftwareGpu(), 4),
);
