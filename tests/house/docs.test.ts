import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

import { CATALOGUE } from '../../src/base/errors.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { errorsPage } from '../support/errors-page.ts';
import { fieldsPage } from '../support/fields-page.ts';
import { FAMILY_FIXTURES } from '../support/family-fixtures.ts';
import { FAMILY_DEVICES, modelsPage } from '../support/models-page.ts';
import { PROJECT_ROOT, sourceFiles } from '../support/project.ts';
import { type SavedGrid, speedPage } from '../support/speed-page.ts';
import { WELL_KNOWN, wellKnownPage } from '../support/well-known-models.ts';

/** The inner rooms of a device, which nothing outside it imports. */
const INNER = /^src\/devices\/[\w-]+\/\w+\//;

const DECLARATION = /^export (?:abstract |async )?(?:class|function\*?|interface|type|const) (\w+)/;

test('every exported declaration has a docstring', () => {
  const bare: string[] = [];
  for (const { path, text } of sourceFiles('src')) {
    if (INNER.test(path)) continue;
    const lines = text.split('\n');
    lines.forEach((line, at) => {
      const name = DECLARATION.exec(line)?.[1];
      if (name !== undefined && !lines[at - 1]?.trimEnd().endsWith('*/')) bare.push(`${path}: ${name}`);
    });
  }
  assert.deepEqual(bare, []);
});

test('docs/errors.md is what the catalogue says', () => {
  const page = readFileSync(join(PROJECT_ROOT, 'docs/errors.md'), 'utf8');
  assert.equal(page, errorsPage(CATALOGUE), 'run: node scripts/docs.mjs');
});

test('docs/fields.md is what checks the requests', () => {
  const page = readFileSync(join(PROJECT_ROOT, 'docs/fields.md'), 'utf8');
  assert.equal(page, fieldsPage(), 'run: node scripts/docs.mjs');
});

test('docs/speed.md is what the saved grid says', () => {
  const page = readFileSync(join(PROJECT_ROOT, 'docs/speed.md'), 'utf8');
  const grid = readFileSync(join(PROJECT_ROOT, 'tests/fixtures/speed.json'), 'utf8');
  assert.equal(page, speedPage(JSON.parse(grid) as SavedGrid), 'run: node scripts/docs.mjs');
});

test('docs/models.md is what the tests go by', () => {
  const page = readFileSync(join(PROJECT_ROOT, 'docs/models.md'), 'utf8');
  assert.equal(page, modelsPage(FAMILY_FIXTURES), 'run: node scripts/docs.mjs');
  for (const { test: path } of FAMILY_DEVICES) {
    assert.match(readFileSync(join(PROJECT_ROOT, path), 'utf8'), /test\w*Families\(/, path);
  }
});

test('docs/well-known-models.md is what templates and architectures say', async () => {
  const page = readFileSync(join(PROJECT_ROOT, 'docs/well-known-models.md'), 'utf8');
  assert.equal(page, await wellKnownPage(), 'run: node scripts/docs.mjs');
  const names = new Set(ALL_ARCHITECTURES.flatMap((architecture) => architecture.names));
  assert.deepEqual(
    WELL_KNOWN.filter(([, , architecture]) => !names.has(architecture)),
    [],
  );
});

test('every architecture has a golden', () => {
  const held = new Set(FAMILY_FIXTURES.map(({ name }) => name));
  const bare = ALL_ARCHITECTURES.filter(({ names }) => !names.some((name) => held.has(name)));
  assert.deepEqual(
    bare.map(({ names }) => names[0]),
    [],
  );
});
