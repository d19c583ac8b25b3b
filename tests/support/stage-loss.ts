import { test } from 'node:test';
import { DevicePipeline } from '../../src/devices/group/index.ts';
import type { LossCase } from './device-loss.ts';
import { HUNG_MS } from './hung.ts';
import { openMortalCpu } from './mortal-cpu.ts';

/** Declares cases of a lost device for a stage of a pipeline: the first one and the last one in turns. */
export function testStageLoss(cases: readonly LossCase[]): void {
  for (const [index, { name, run }] of cases.entries()) {
    const lost = index % 2;
    test(`stage ${lost} of a pipeline: ${name}`, { timeout: HUNG_MS }, () =>
      run(async () => {
        const stages = [await openMortalCpu(), await openMortalCpu()];
        const device = new DevicePipeline(stages.map((stage) => stage.device));
        return { device, lose: () => stages[lost]?.lose() };
      }),
    );
  }
}
