import assert from 'node:assert/strict';
import { posix } from 'node:path';
import { test } from 'node:test';
import { importsOf } from './imports.ts';
import { sourceFiles } from '../support/project.ts';

const MAX_LINES = 600;

/** A file with no more lines has to be of use to more than one other. */
const MIN_LINES = 30;

/** Tables of a format's definition are as long as the definition. */
const TABLES = /^src\/formats\/tables\//;

/** What the build writes among the sources. */
const MADE = /^src\/devices\/cpu\/kernels\/(?:formats|format-exports)\.ts$/;

/** Texts for a compiler of kernels: one file a kernel, whoever launches it. */
const KERNELS = /^src\/devices\/[\w-]+\/(?:kernels|texts)\//;

test(`no file is longer than ${MAX_LINES} lines`, () => {
  const long = ['src', 'tests', 'bench']
    .flatMap(sourceFiles)
    .filter(({ path }) => !TABLES.test(path) && !MADE.test(path))
    .map(({ path, text }) => ({ path, lines: linesOf(text) }))
    .filter(({ lines }) => lines > MAX_LINES);
  assert.deepEqual(long, []);
});

/**
 * A short file with one importer is a piece of it. It may stand by itself where it is types alone; where its importer gives it
 * out, or reads it only when it is needed; and in a registry: a folder of one file a thing, most of which the same file gathers.
 */
test(`no file of at most ${MIN_LINES} lines has one importer, unless it is one of many of a kind`, () => {
  const files = ['src', 'tests', 'bench'].flatMap(sourceFiles);
  const importers = new Map<string, string[]>();
  for (const file of files) {
    for (const target of new Set(importsOf(file).own)) {
      importers.set(target, [...(importers.get(target) ?? []), file.path]);
    }
  }
  const only = (path: string) => (importers.get(path)?.length === 1 ? importers.get(path)?.[0] : undefined);
  const texts = new Map(files.map(({ path, text }) => [path, text]));
  const isOneOfMany = (path: string, importer: string) => {
    const folder = posix.dirname(path);
    const siblings = [...texts.keys()].filter(
      (other) => posix.dirname(other) === folder && other !== importer,
    );
    return siblings.filter((other) => importers.get(other)?.includes(importer)).length * 2 > siblings.length;
  };
  const pieces = files.filter(({ path, text }) => {
    const importer = only(path);
    if (importer === undefined || !path.startsWith('src/') || KERNELS.test(path)) return false;
    if (linesOf(text) > MIN_LINES || isTypesAlone(text)) return false;
    return !givesOut(texts.get(importer) ?? '', posix.basename(path)) && !isOneOfMany(path, importer);
  });
  assert.deepEqual(
    pieces.map(({ path }) => `${path} belongs into ${only(path)}`),
    [],
  );
});

function linesOf(text: string): number {
  return text.split('\n').length - 1;
}

function isTypesAlone(text: string): boolean {
  return !/^(?:export )?(?:default )?(?:async )?(?:abstract )?(?:const|let|function|class|enum)\b/m.test(
    text,
  );
}

/** True where a file exports another's names, or imports it while it runs. */
function givesOut(text: string, name: string): boolean {
  const escaped = name.replaceAll('.', '\\.');
  return new RegExp(`^export [^;]*?from '[^']*/${escaped}'|\\bimport\\(\\s*'[^']*/${escaped}'`, 'm').test(
    text,
  );
}
