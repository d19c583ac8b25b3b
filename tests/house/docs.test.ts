import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

import { CATALOGUE } from '../../src/base/errors.ts';
import { errorsPage } from '../support/errors-page.ts';
import { PROJECT_ROOT, sourceFiles } from '../support/project.ts';

/** The inner rooms of a device, which nothing outside it imports. */
const INNER = /^src\/devices\/\w+\/\w+\//;

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
