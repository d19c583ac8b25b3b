import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sourceFiles } from '../support/project.ts';

const MOST_LINES = 600;

/** Tables of a format's definition are as long as the definition. */
const TABLES = /^src\/formats\/tables\//;

/** What the build writes among the sources. */
const MADE = /^src\/devices\/cpu\/kernels\/(?:formats|format-exports)\.ts$/;

test(`no file is longer than ${MOST_LINES} lines`, () => {
  const long = ['src', 'tests', 'bench']
    .flatMap(sourceFiles)
    .filter(({ path }) => !TABLES.test(path) && !MADE.test(path))
    .map(({ path, text }) => ({ path, lines: text.split('\n').length - 1 }))
    .filter(({ lines }) => lines > MOST_LINES);
  assert.deepEqual(long, []);
});
