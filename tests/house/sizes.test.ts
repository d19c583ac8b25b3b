import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { PROJECT_ROOT, sourceFiles } from '../support/project.ts';

const MOST_LINES = 400;

/** Tables of a format's definition are as long as the definition. */
const TABLES = /^src\/formats\/tables\//;

test(`no file is longer than ${MOST_LINES} lines`, () => {
  const long = ['src', 'tests', 'bench']
    .flatMap(sourceFiles)
    .filter(({ path }) => !TABLES.test(path))
    .map(({ path, text }) => ({ path, lines: text.split('\n').length - 1 }))
    .filter(({ lines }) => lines > MOST_LINES);
  assert.deepEqual(long, []);
});

test('the linter finds nothing: function sizes, floating promises, any, formatting', () => {
  const biome = createRequire(import.meta.url).resolve('@biomejs/biome/bin/biome');
  const run = spawnSync(process.execPath, [biome, 'check', '--error-on-warnings'], {
    cwd: PROJECT_ROOT,
    encoding: 'utf8',
  });
  assert.equal(run.status, 0, run.stdout + run.stderr);
});
