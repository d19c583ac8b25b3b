import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sourceImports } from '../house/imports.ts';

/** What a page's bundler starts from. */
const ENTRIES = ['index', 'engine-worker', 'cpu-worker', 'decode-worker'].map(
  (name) => `src/browser/${name}.ts`,
);

/** Packages that run anywhere. */
const PACKAGES = new Set(['@huggingface/jinja', 'hash-wasm']);

test('nothing that Node alone has can be reached from the browser’s entries', () => {
  const imports = new Map(sourceImports().map((of) => [of.file, of]));
  const reached = new Set<string>(ENTRIES);
  const wrong: string[] = [];
  for (const file of reached) {
    const found = imports.get(file);
    assert.ok(found, file);
    for (const own of found.own) reached.add(own);
    for (const name of found.packages) if (!PACKAGES.has(name)) wrong.push(`${file}: ${name}`);
    if (/^src\/(?:node|cli)\//.test(file)) wrong.push(file);
  }
  assert.deepEqual(wrong, []);
  assert.ok(reached.size > 100, `${reached.size} files`);
});
