import assert from 'node:assert/strict';
import { caseData } from './case-data.ts';
import { PACKING_CASES } from './cases/index.ts';
import { type ContractContext, contractTest, skipsGroup } from './contract-context.ts';
import { runCase } from './run-case.ts';

/** Weights may arrive in pieces of any order, from any place in pinned memory. */
export function testPacking(context: ContractContext): void {
  if (skipsGroup(context, 'packing')) return;
  for (const of of PACKING_CASES) {
    contractTest(context, `packing: ${of.name}`, async () => {
      const data = caseData(of);
      const whole = await runCase(context.device(), data, 'whole');
      const pieces = await runCase(context.device(), data, 'pieces');
      assert.deepEqual(pieces.outputs, whole.outputs);
      assert.deepEqual(pieces.violations, []);
    });
  }
}
