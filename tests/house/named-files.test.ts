import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { test } from 'node:test';
import { PROJECT_ROOT, sourceFiles } from '../support/project.ts';

/** What is built before the tests, and no part of a checkout. */
const BUILT = /^(?:dist|node_modules|\.cache)\//;

/** The pages that name files: those at the root, and the guides. */
const PAGES = ['ARCHITECTURE.md', 'CONTRIBUTING.md', 'README.md', ...guides()];

function guides(): string[] {
  const names = readdirSync(join(PROJECT_ROOT, 'docs')).filter((name) => name.endsWith('.md'));
  return names.map((name) => `docs/${name}`);
}

/** Paths of the project that a page names between backticks or links to, without what stands behind a `#`. */
function pathsIn(page: string): string[] {
  const text = readFileSync(join(PROJECT_ROOT, page), 'utf8');
  const quoted = Array.from(
    text.matchAll(/`((?:src|tests|docs|bench|scripts|web)\/[\w./*-]+)`/g),
    ([, path = '']) => path,
  );
  const linked = Array.from(text.matchAll(/\]\((?!https?:|#)([\w./-]+)(?:#[\w-]*)?\)/g), ([, path = '']) =>
    posix.join(posix.dirname(page), path),
  );
  return [...quoted, ...linked].filter((path) => !BUILT.test(path));
}

/** True for a path that is there; a `*` stands for any part of a name. */
function isThere(path: string): boolean {
  if (!path.includes('*')) return existsSync(join(PROJECT_ROOT, path));
  const folder = join(PROJECT_ROOT, posix.dirname(path));
  const name = new RegExp(`^${posix.basename(path).replaceAll('.', '\\.').replaceAll('*', '.*')}$`);
  return existsSync(folder) && readdirSync(folder).some((entry) => name.test(entry));
}

test('every file that a page names is there', () => {
  const gone = PAGES.flatMap((page) =>
    pathsIn(page)
      .filter((path) => !isThere(path))
      .map((path) => `${page}: ${path}`),
  );
  assert.deepEqual(gone, []);
});

test('ARCHITECTURE.md names every room of src/', () => {
  const page = readFileSync(join(PROJECT_ROOT, 'ARCHITECTURE.md'), 'utf8');
  const rooms = new Set(
    sourceFiles('src')
      .map(({ path }) => /^src\/((?:devices\/)?[\w-]+)\//.exec(path)?.[1])
      .filter((room) => room !== undefined),
  );
  const unnamed = [...rooms].filter((room) => !page.includes(`\`${room}/\``));
  assert.deepEqual(unnamed, []);
});

test('the objects of the first design are found where ARCHITECTURE.md says', () => {
  const page = readFileSync(join(PROJECT_ROOT, 'ARCHITECTURE.md'), 'utf8');
  const files = pathsIn('ARCHITECTURE.md').filter((path) => path.endsWith('.ts'));
  const text = files.map((path) => readFileSync(join(PROJECT_ROOT, path), 'utf8')).join('\n');
  const objects = ['GgufLoader', 'AsyncModelLoader', 'LazyTensor', 'ExecutionPlan', 'DeviceTensor'];
  for (const name of [...objects, 'HipStream', 'HipEvent', 'PinnedBuffer', 'Job']) {
    assert.ok(page.includes(`\`${name}\``), `ARCHITECTURE.md names ${name}`);
    assert.match(text, new RegExp(`export (?:class|interface) ${name}\\b`), name);
  }
});
