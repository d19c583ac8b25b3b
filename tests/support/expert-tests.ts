import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LanguageModel } from '../../src/index.ts';
import { buffersOf } from '../../src/plan/memory/weight-placement.ts';
import { familyPaths } from './family-fixtures.ts';
import type { GoldenDevice } from './golden-tests.ts';
import { largestDifference, logitsOf } from './prompt-chunk-tests.ts';

const IDS = [7, 25, 53, 30, 17, 14, 21, 38];
const { model: PATH } = familyPaths({ name: 'glm4moe', sizes: {} });
/** The fraction of the memory of all weights. */
const BUDGET = 0.9;

/** A mixture of experts under a memory budget: layers are streamed in every step. */
export function testStreamedExperts(device: GoldenDevice): void {
  const declare = device.declare ?? test;
  declare(`experts that do not fit into memory are streamed on ${device.name}`, async () => {
    const options = { context: 32, batch: IDS.length, logitRows: IDS.length } as const;
    await using whole = await device.open(PATH, options);
    const expected = await logitsOf(whole, IDS);
    const weightMemory = Math.floor(BUDGET * bytesOf(whole));
    await using streamed = await device.open(PATH, { ...options, weightMemory });
    assert.ok(streamed.fit.streamedParts > 0);
    assert.ok(bytesOf(streamed) <= weightMemory);
    const difference = largestDifference(await logitsOf(streamed, IDS), expected);
    assert.ok(difference < 1e-5, `a logit differs by ${difference}`);
  });
}

/** The memory of the weights that stay, and of the slots for the others. */
function bytesOf({ fit }: LanguageModel): number {
  return buffersOf(fit.placement).reduce((sum, bytes) => sum + bytes, 0);
}
