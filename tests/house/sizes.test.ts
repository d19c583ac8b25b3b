import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
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

/** The file that a package's command runs. */
function commandOf(name: string): string {
  const require = createRequire(import.meta.url);
  const manifest = require.resolve(`${name}/package.json`);
  const { bin } = require(manifest) as { bin: string | Record<string, string> };
  return join(dirname(manifest), typeof bin === 'string' ? bin : (bin[name] ?? ''));
}

for (const [command, ...flags] of [
  ['oxlint', '--type-aware'],
  // Most files are as they were at the last run.
  ['prettier', '--check', '--cache', '--cache-strategy', 'content', '.'],
] as const) {
  test(`${command} finds nothing`, () => {
    const run = spawnSync(process.execPath, [commandOf(command), ...flags], {
      cwd: PROJECT_ROOT,
      encoding: 'utf8',
    });
    assert.equal(run.status, 0, run.stdout + run.stderr);
  });
}
