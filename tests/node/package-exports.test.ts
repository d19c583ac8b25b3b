import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { PROJECT_ROOT } from '../support/project.ts';

/** What an export is for TypeScript, for Node and for everybody else. */
interface Conditions {
  readonly types: string;
  readonly node: string;
  readonly default: string;
}

type Exports = Readonly<Record<string, string | Conditions>>;

const { exports } = JSON.parse(readFileSync(join(PROJECT_ROOT, 'package.json'), 'utf8')) as {
  exports: Exports;
};
const bundled = Object.entries(exports).filter(
  (entry): entry is [string, Conditions] => typeof entry[1] === 'object',
);

const load = async (file: string) =>
  (await import(pathToFileURL(join(PROJECT_ROOT, file)).href)) as Readonly<Record<string, unknown>>;

test('what Node imports has the names of the modules that others bundle', async () => {
  assert.ok(bundled.length > 10);
  for (const [name, { node, default: module, types }] of bundled) {
    assert.deepEqual(Object.keys(await load(node)).sort(), Object.keys(await load(module)).sort(), name);
    assert.equal(types, module.replace(/\.js$/, '.d.ts'), name);
    assert.ok(readFileSync(join(PROJECT_ROOT, types), 'utf8').length > 0, name);
  }
});

test('a class or function of two exports is the same one in Node', async () => {
  const found = new Map<string, unknown>();
  let shared = 0;
  for (const [, { node }] of bundled) {
    for (const [name, value] of Object.entries(await load(node))) {
      if (found.has(name)) {
        shared++;
        assert.equal(value, found.get(name), name);
      }
      found.set(name, value);
    }
  }
  assert.ok(shared > 0, `${shared} names`);
});
