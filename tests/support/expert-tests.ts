import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LanguageModel } from '../../src/index.ts';
import { buffersOf } from '../../src/plan/memory/weight-placement.ts';
import { familyPaths } from './family-fixtures.ts';
import type { GoldenDevice } from './golden-tests.ts';
import { largestDifference, logitsOf } from './prompt-chunk-tests.ts';

const IDS = [7, 25, 53, 30, 17, 14, 21, 38];
/** Experts that are uploaded when they are chosen: a model with 16, of which a row chooses 4. */
const { model: MANY } = familyPaths({ name: 'qwen3moe', sizes: {} });
/** A row's experts have slots at once; those of a prompt pass through them in groups. */
const EXPERT_SLOTS = 7;

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

/** A mixture of experts that has slots for some of them: prompts and single tokens are as with all of them. */
export function testExpertsByUse(device: GoldenDevice): void {
  const declare = device.declare ?? test;
  declare(`experts come to ${device.name} when they are chosen`, async () => {
    const options = { context: 32, batch: IDS.length, logitRows: IDS.length } as const;
    await using whole = await device.open(MANY, options);
    const expected = await logitsOf(whole, IDS);
    const said = await say(whole);
    await using streamed = await device.open(MANY, {
      ...options,
      experts: 'stream',
      expertSlots: EXPERT_SLOTS,
    });
    assert.equal(streamed.fit.expertSlots, EXPERT_SLOTS);
    assert.ok(bytesOf(streamed) < bytesOf(whole));
    const difference = largestDifference(await logitsOf(streamed, IDS), expected);
    assert.ok(difference < 1e-4, `a logit differs by ${difference}`);
    const prompt = streamed.counters;
    assert.ok(prompt.expertMisses > EXPERT_SLOTS && prompt.expertBytes > 0);
    assert.deepEqual(await say(streamed), said);
    assert.ok(streamed.counters.expertHits > prompt.expertHits);
    const asked = { experts: 'stream', expertSlots: EXPERT_SLOTS, expertPrefetch: 2 } as const;
    const openAlone = device.openAlone ?? device.open;
    await using ahead = await openAlone(MANY, { ...options, ...asked });
    assert.deepEqual(await say(ahead), said);
    const { expertPrefetches, expertPrefetchesUsed } = ahead.counters;
    assert.ok(expertPrefetches > 0 && expertPrefetchesUsed > 0 && expertPrefetchesUsed <= expertPrefetches);
  });
}

/** What a model says of itself, token by token. */
async function say(model: LanguageModel): Promise<number[]> {
  const ids: number[] = [];
  const said = model.generate([5, 3], { temperature: 0, maxTokens: 6, ignoreEnd: true });
  for await (const { token } of said) if (token) ids.push(token.id);
  return ids;
}

/** The memory of the weights that stay, and of the slots for the others. */
function bytesOf({ fit }: LanguageModel): number {
  return buffersOf(fit.placement).reduce((sum, bytes) => sum + bytes, 0);
}
