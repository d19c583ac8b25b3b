import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import type { LanguageModel } from '../../src/index.ts';
import {
  FAMILY_FIXTURES,
  type FamilyFixture,
  familyPaths,
  LARGEST_DIFFERENCE,
  type LongText,
} from './family-fixtures.ts';
import { testExpertsByUse, testStreamedExperts } from './expert-tests.ts';
import type { GoldenDevice } from './golden-tests.ts';
import { testControlVectors } from './control-vector-tests.ts';
import { testAdapters } from './lora-tests.ts';
import { testPromptChunks } from './prompt-chunk-tests.ts';
import { testTaps } from './tap-tests.ts';
import { decodeForced, openForGolden, readGolden } from './goldens.ts';

/**
 * Compares every architecture's random model with llama.cpp's results, and tests taps and whatever else must hold for
 * models on every device.
 */
export function testFamilies(device: GoldenDevice): void {
  testGoldensOf(FAMILY_FIXTURES, device);
  testModelsOn(device);
}

/** Compares random models of architectures with llama.cpp's results. */
export function testGoldensOf(families: readonly FamilyFixture[], device: GoldenDevice): void {
  const declare = device.declare ?? test;
  for (const family of families) {
    const { name, encodes, scores } = family;
    const claim = encodes ? `${name} embeds as its golden` : `${name} matches its golden`;
    const work = encodes || scores !== undefined ? testEncoder : testDecoder;
    declare(`${claim} on ${device.name}`, () => work(family, device));
  }
}

/** Tests taps, adapters, control vectors, split prompts and streamed experts, each with a suitable model. */
export function testModelsOn(device: GoldenDevice): void {
  testTaps(device);
  testAdapters(device);
  testControlVectors(device);
  testPromptChunks(device);
  testStreamedExperts(device);
  testExpertsByUse(device);
}

/** Compares a model with the golden of a long text. */
export function testLongText(device: GoldenDevice, claim: string, { model, golden }: LongText): void {
  const declare = device.declare ?? test;
  declare(`${claim}: as llama.cpp has it on ${device.name}`, () =>
    compareForced({ path: model, golden }, device),
  );
}

function testDecoder(family: FamilyFixture, device: GoldenDevice): Promise<void> {
  const { model: path, golden } = familyPaths(family);
  return compareForced({ path, golden, difference: family.difference }, device);
}

async function compareForced(
  of: { readonly path: string; readonly golden: string; readonly difference?: number | undefined },
  device: GoldenDevice,
): Promise<void> {
  const { path, golden, difference = LARGEST_DIFFERENCE } = of;
  const sequences = await readGolden(golden);
  await using model = await openForGolden(path, sequences, device.open);
  const report = await decodeForced(model, sequences);
  assert.ok(report.maxDifference < difference, `a logit differs by ${report.maxDifference}`);
  assert.equal(report.clearAgreement, 1);
  assert.ok(report.greedyAgrees, 'what the golden generated comes out again');
}

async function testEncoder(family: FamilyFixture, device: GoldenDevice): Promise<void> {
  const { model: path, golden } = familyPaths(family);
  await using model = await device.open(path, { cacheType: 'f32' });
  const check = family.encodes ? checkEmbeddings : checkScores;
  await check(model, await readFile(golden, 'utf8'));
}

/** Compares a model with a golden's texts and llama.cpp's embeddings of them. */
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

/** Compares a model with a golden's texts and llama.cpp's scores of them. */
export async function checkScores(model: LanguageModel, golden: string): Promise<void> {
  for (const line of golden.trim().split('\n')) {
    const { ids, scores } = JSON.parse(line) as { ids: number[]; scores: number[] };
    const found = await model.classify(ids);
    assert.equal(found.scores.length, scores.length);
    const differences = scores.map((score, i) => Math.abs(score - (found.scores[i] ?? Number.NaN)));
    assert.ok(Math.max(...differences) < LARGEST_DIFFERENCE, `scores differ by ${differences.join(', ')}`);
  }
}
