import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { parseGolden } from '../../src/engine/golden.ts';
import { loadModel } from '../../src/index.ts';
import { LARGEST_DIFFERENCE } from '../support/family-fixtures.ts';
import { FAMILY_VARIANTS, VARIANTS_GOLDEN, writeVariant } from '../support/family-variants.ts';
import { decodeForced, openForGolden } from '../support/goldens.ts';
import { temporaryFolder } from '../support/temporary.ts';

const goldens = (await readFile(VARIANTS_GOLDEN, 'utf8')).split('\n');

for (const variant of FAMILY_VARIANTS) {
  const { name, difference = LARGEST_DIFFERENCE } = variant;
  test(`${name}: as llama.cpp has it`, async (t) => {
    const lines = goldens.filter((line) => line.startsWith(`{"variant":${JSON.stringify(name)},`));
    const sequences = parseGolden(lines.join('\n'));
    const path = join(temporaryFolder(t), 'variant.gguf');
    await writeVariant(variant, path);
    await using model = await openForGolden(path, sequences, (file, options) =>
      loadModel(file, { ...options, device: 'cpu' }),
    );
    const report = await decodeForced(model, sequences);
    assert.ok(report.maxDifference < difference, `a logit differs by ${report.maxDifference}`);
    assert.equal(report.clearAgreement, 1);
    assert.ok(report.greedyAgrees, 'what the golden generated comes out again');
  });
}
