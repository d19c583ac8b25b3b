import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

import { CATALOGUE } from '../../src/base/errors.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { errorsPage } from '../support/errors-page.ts';
import { fieldsPage } from '../support/fields-page.ts';
import { FAMILY_FIXTURES } from '../support/family-fixtures.ts';
import { FAMILY_DEVICES, modelsPage } from '../support/models-page.ts';
import { PROJECT_ROOT, sourceFiles } from '../support/project.ts';
import { apiEntries, apiIndexPage } from '../support/site/api-pages.ts';
import { brokenLinks, sitePages } from '../support/site/site-pages.ts';
import { type SavedGrid, speedPage, withSpeed } from '../support/speed-page.ts';
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
  const readme = readFileSync(join(PROJECT_ROOT, 'README.md'), 'utf8');
  assert.equal(readme, withSpeed(readme, JSON.parse(grid) as SavedGrid), 'run: node scripts/docs.mjs');
});

test('docs/api.md is what the package exports', () => {
  const page = readFileSync(join(PROJECT_ROOT, 'docs/api.md'), 'utf8');
  const lines = new Set(page.split('\n'));
  const missing = apiIndexPage(apiEntries())
    .split('\n')
    .filter((line) => !lines.has(line));
  assert.deepEqual(missing, [], 'run: node scripts/docs.mjs');
  assert.ok(page === apiIndexPage(apiEntries()), 'run: node scripts/docs.mjs');
});

test('the site has every guide and every export, and no link that leads nowhere', () => {
  const pages = sitePages();
  assert.deepEqual(
    brokenLinks(pages, (path) => existsSync(join(PROJECT_ROOT, path))),
    [],
  );
  const main = pages.find(({ path }) => path === 'docs/api-main.html');
  assert.ok(main?.anchors.has('loadmodel') && main.anchors.has('chatsession'));
  const menu = pages[0]?.html ?? '';
  for (const { path } of pages) assert.ok(menu.includes(`href="${path}"`), path);
});

test('that check finds pages and names that are not there', () => {
  const page = (path: string, links: string[]) => ({ path, links, html: '', anchors: new Set(['there']) });
  const pages = [
    page('index.html', ['docs/a.html#there', '#nowhere', 'https://x.y']),
    page('docs/a.html', ['b.html']),
  ];
  assert.deepEqual(
    brokenLinks(pages, () => false),
    ['index.html: #nowhere', 'docs/a.html: b.html'],
  );
});

test('what docs/troubleshooting.md says that one sees is in the source', () => {
  const page = readFileSync(join(PROJECT_ROOT, 'docs/troubleshooting.md'), 'utf8');
  const source = sourceFiles('src')
    .map(({ text }) => text)
    .join('\n');
  const seen = [...page.matchAll(/^\| ([^|]*) \|/gm)].flatMap(
    ([, cell = '']) => cell.match(/`[^`]+`/g) ?? [],
  );
  const parts = seen.flatMap((message) => message.slice(1, -1).split('…')).map((part) => part.trim());
  assert.ok(parts.length > 20);
  assert.deepEqual(
    parts.filter((part) => !source.includes(part)),
    [],
  );
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
