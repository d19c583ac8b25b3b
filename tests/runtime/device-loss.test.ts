import { test } from 'node:test';
import { LOSS_CASES } from '../support/device-loss.ts';
import { openMortalCpu } from '../support/mortal-cpu.ts';
import { HUNG_MS } from '../support/hung.ts';

for (const { name, run } of LOSS_CASES) test(name, { timeout: HUNG_MS }, () => run(openMortalCpu));
