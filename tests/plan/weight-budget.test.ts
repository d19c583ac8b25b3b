import { test } from 'node:test';
import { openCpu } from '../../src/node/open-cpu.ts';
import { checkWeightBudget } from '../support/weight-budget.ts';

test('the bundled model in 40 % of its size says the same: cpu', () =>
  checkWeightBudget(() => openCpu({ threads: 2 }), 8));
