import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FAMILY_FIXTURES, familyPaths, LARGEST_DIFFERENCE } from './family-fixtures.ts';
import type { GoldenDevice } from './golden-tests.ts';
import { decodeForced, openForGolden, readGolden } from './goldens.ts';

/** Every architecture's random model, against what llama.cpp computes with it. */
export function testFamilies(device: GoldenDevice): void {
  const declare = device.declare ?? test;
  for (const family of FAMILY_FIXTURES) {
    declare(`${family.name} matches its golden on ${device.name}`, async () => {
      const { model: path, golden } = familyPaths(family);
      const sequences = await readGolden(golden);
      await using model = await openForGolden(path, sequences, device.open);
      const { difference = LARGEST_DIFFERENCE } = family;
      const report = await decodeForced(model, sequences);
      assert.ok(report.maxDifference < difference, `a logit differs by ${report.maxDifference}`);
      assert.equal(report.clearAgreement, 1);
      assert.ok(report.greedyAgrees, 'what the golden generated comes out again');
    });
  }
}
