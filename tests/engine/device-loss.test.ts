import { test } from 'node:test';
import { LOSS_CASES } from '../support/device-loss.ts';
import { openMortalCpu } from '../support/mortal-cpu.ts';

for (const { name, run } of LOSS_CASES) test(name, { timeout: 60_000 }, () => run(openMortalCpu));
