import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { type GoldenSequence, parseGolden } from '../../src/evaluate/golden.ts';
import { isRocmforgeError } from '../../src/base/errors.ts';
import { openGguf } from '../../src/node/open-gguf.ts';
import { checkEmbeddings, checkScores } from '../support/family-tests.ts';
import { LARGEST_DIFFERENCE } from '../support/family-fixtures.ts';
import { type FamilyVariant, writeVariant } from '../support/family-variant.ts';
import { FAMILY_VARIANTS, VARIANTS_GOLDEN } from '../support/family-variants.ts';
import { fixture } from '../support/fixture.ts';
import { decodeForced, openForGolden } from '../support/goldens.ts';
import { NearTies } from '../support/near-ties.ts';
import { onOneCpu } from '../support/one-cpu.ts';
import { temporaryFolder } from '../support/temporary.ts';

const open = onOneCpu();
const goldens = (await readFile(VARIANTS_GOLDEN, 'utf8')).split('\n');

for (const variant of FAMILY_VARIANTS) {
  const { name, difference = LARGEST_DIFFERENCE } = variant;
  test(`${name}: as llama.cpp has it`, async (t) => {
    const lines = goldens.filter((line) => line.startsWith(`{"variant":${JSON.stringify(name)},`));
    const path = join(temporaryFolder(t), 'variant.gguf');
    await writeVariant(variant, path);
    if (variant.encodes || variant.scores !== undefined) return testEncoder(variant, path, lines);
    const sequences = parseGolden(lines.join('\n'));
    if (variant.ties) return testNearTies(variant, path, sequences);
    await using model = await openForGolden(path, sequences, open);
    const report = await decodeForced(model, sequences);
    assert.ok(report.maxDifference < difference, `a logit differs by ${report.maxDifference}`);
    assert.equal(report.clearAgreement, 1);
    assert.ok(report.greedyAgrees, 'what the golden generated comes out again');
  });
}

/** Compares with the golden's choices forced, where a router or an indexer chooses between near ties. */
async function testNearTies(
  { ties, difference: limit = LARGEST_DIFFERENCE }: FamilyVariant,
  path: string,
  sequences: readonly GoldenSequence[],
): Promise<void> {
  await using file = await openGguf(path);
  const near = await NearTies.of(file);
  await using model = await openForGolden(path, sequences, (of, options) =>
    open(of, { ...options, taps: near.taps }),
  );
  for (const { ids, top } of sequences) {
    const difference = (logits: Float32Array, position: number) =>
      Math.max(...(top[position] ?? []).map(([id, logit]) => Math.abs(logit - (logits[id] ?? Number.NaN))));
    const left = await near.settle(model, ids, { limit, difference });
    assert.ok(left < limit, `a logit differs by ${left}`);
    const named = new Set(near.forced.map(({ name, position }) => `${name} at ${position}`));
    assert.deepEqual([...named], ties);
  }
}

async function testEncoder(
  { encodes }: FamilyVariant,
  path: string,
  lines: readonly string[],
): Promise<void> {
  await using model = await open(path, { cacheType: 'f32' });
  await (encodes ? checkEmbeddings : checkScores)(model, lines.join('\n'));
}

test('an encoder whose file names no pooling has vectors by the one that is asked for', async (t) => {
  const path = join(temporaryFolder(t), 'bert.gguf');
  const [architecture, sizes] = ['bert', { kvHeads: 4 }] as const;
  // llama.cpp says so by -1.
  for (const pooling_type of [{ type: 'u32', value: 2 ** 32 - 1 }, undefined] as const) {
    await writeVariant({ name: 'bert', architecture, sizes, metadata: { pooling_type } }, path);
    await using model = await open(path, { cacheType: 'f32' });
    await assert.rejects(model.embed([3, 5, 7]), (error) =>
      isRocmforgeError(error, 'EMBEDDINGS_UNSUPPORTED'),
    );
  }
  await using model = await open(path, { cacheType: 'f32' });
  await using mean = await open(fixture('families/bert.gguf'), { cacheType: 'f32' });
  const [asked, own, first] = await Promise.all([
    model.embed([3, 5, 7], { pooling: 'mean' }),
    mean.embed([3, 5, 7]),
    mean.embed([3, 5, 7], { pooling: 'first' }),
  ]);
  assert.deepEqual(asked.vector, own.vector);
  assert.notDeepEqual(first.vector, own.vector);
});
