import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import type { LanguageModel } from '../../src/index.ts';
import { FAMILY_FIXTURES, type FamilyFixture, familyPaths, LARGEST_DIFFERENCE } from './family-fixtures.ts';
import { testStreamedExperts } from './expert-tests.ts';
import type { GoldenDevice } from './golden-tests.ts';
import { testAdapters } from './lora-tests.ts';
import { testPromptChunks } from './prompt-chunk-tests.ts';
import { testTaps } from './tap-tests.ts';
import { decodeForced, openForGolden, readGolden } from './goldens.ts';

/**
 * Every architecture's random model, against what llama.cpp computes with it; that values of one are read and replaced; and what
 * else holds of models on every device.
 */
export function testFamilies(device: GoldenDevice): void {
  testGoldensOf(FAMILY_FIXTURES, device);
  testModelsOn(device);
}

/** Random models of architectures, against what llama.cpp computes with them. */
export function testGoldensOf(families: readonly FamilyFixture[], device: GoldenDevice): void {
  const declare = device.declare ?? test;
  for (const family of families) {
    const { name, encodes } = family;
    const claim = encodes ? `${name} embeds as its golden` : `${name} matches its golden`;
    declare(`${claim} on ${device.name}`, () => (encodes ? testEncoder : testDecoder)(family, device));
  }
}

/** Taps, adapters, prompts in pieces and streamed experts, with whichever model shows them. */
export function testModelsOn(device: GoldenDevice): void {
  testTaps(device);
  testAdapters(device);
  testPromptChunks(device);
  testStreamedExperts(device);
}

async function testDecoder(family: FamilyFixture, device: GoldenDevice): Promise<void> {
  const { model: path, golden } = familyPaths(family);
  const sequences = await readGolden(golden);
  await using model = await openForGolden(path, sequences, device.open);
  const { difference = LARGEST_DIFFERENCE } = family;
  const report = await decodeForced(model, sequences);
  assert.ok(report.maxDifference < difference, `a logit differs by ${report.maxDifference}`);
  assert.equal(report.clearAgreement, 1);
  assert.ok(report.greedyAgrees, 'what the golden generated comes out again');
}

async function testEncoder(family: FamilyFixture, device: GoldenDevice): Promise<void> {
  const { model: path, golden } = familyPaths(family);
  await using model = await device.open(path, { cacheType: 'f32' });
  await checkEmbeddings(model, await readFile(golden, 'utf8'));
}

/** Holds a model to the lines of a golden: texts, and the vectors that llama.cpp makes of them. */
export async function checkEmbeddings(model: LanguageModel, golden: string): Promise<void> {
  for (const line of golden.trim().split('\n')) {
    const { ids, vector } = JSON.parse(line) as { ids: number[]; vector: number[] };
    const embedded = await model.embed(ids, { normalized: false });
    assert.equal(embedded.tokens, ids.length);
    const differences = vector.map((value, i) => Math.abs(value - (embedded.vector[i] ?? Number.NaN)));
    const largest = Math.max(...differences);
    assert.ok(largest < LARGEST_DIFFERENCE, `a value differs by ${largest}`);
  }
}
