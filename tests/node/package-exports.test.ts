import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { packageEntries } from '../support/package-entries.ts';

const load = async (file: string) =>
  (await import(pathToFileURL(file).href)) as Readonly<Record<string, unknown>>;

/** What Node imports, by entry. */
const BUNDLES = packageEntries().flatMap(({ name, module, node }) =>
  node === undefined ? [] : [{ name, module, node }],
);

test('what Node imports has the names of the modules that others bundle', async () => {
  assert.ok(BUNDLES.length > 10);
  for (const { name, module, node } of BUNDLES) {
    assert.deepEqual(Object.keys(await load(node)).sort(), Object.keys(await load(module)).sort(), name);
  }
});

test('a class or function of two entries is the same one in Node', async () => {
  const found = new Map<string, unknown>();
  let shared = 0;
  for (const { node } of BUNDLES) {
    for (const [name, value] of Object.entries(await load(node))) {
      if (found.has(name)) {
        shared++;
        assert.equal(value, found.get(name), name);
      }
      found.set(name, value);
    }
  }
  assert.ok(shared > 0);
});
