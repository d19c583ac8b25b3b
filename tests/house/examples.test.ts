import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { blocksIn, RUN_BY } from '../support/guide-examples.ts';
import { PROJECT_ROOT } from '../support/project.ts';

const read = (path: string) => readFileSync(join(PROJECT_ROOT, path), 'utf8');

/** The pages of the project: those at the root, and in the folders of guides and examples. */
const PAGES = ['', 'docs/', 'examples/'].flatMap((folder) =>
  readdirSync(join(PROJECT_ROOT, folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `${folder}${name}`),
);

test('every block of code in a page is run by a test, or says why none can', () => {
  const unknown: string[] = [];
  const wanted = new Set<string>();
  for (const page of PAGES) {
    for (const { language, notRun } of blocksIn(read(page))) {
      if (notRun) continue;
      wanted.add(`${page} ${language}`);
      if (!RUN_BY[page]?.[language]) unknown.push(`${page}: a block of ${language || 'no language'}`);
    }
  }
  assert.deepEqual(unknown, []);
  const known = Object.entries(RUN_BY).flatMap(([page, tests]) =>
    Object.keys(tests).map((language) => `${page} ${language}`),
  );
  assert.deepEqual(
    known.filter((each) => !wanted.has(each)),
    [],
    'they have blocks',
  );
});

test('the tests that run them read these pages, and continuous integration runs the tests', () => {
  const script = read('.ci/run');
  for (const [page, tests] of Object.entries(RUN_BY)) {
    for (const test of new Set(Object.values(tests))) {
      const path = `tests/${test}.test.ts`;
      assert.ok(existsSync(join(PROJECT_ROOT, path)), path);
      const text = read(path);
      assert.ok(text.includes(`'${page}'`) || text.includes(`pagesRunBy('${test}'`), `${path} reads ${page}`);
      assert.ok(!test.startsWith('full/') || script.split(/\s/).includes(test), `.ci/run runs ${test}`);
    }
  }
});
