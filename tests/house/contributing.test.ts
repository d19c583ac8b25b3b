import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { PROJECT_ROOT } from '../support/project.ts';

/** A line of the table of what can be added: the folders that get a file, and the files that get a line. */
interface Row {
  readonly what: string;
  readonly folders: readonly string[];
  readonly edited: readonly string[];
}

function readProject(path: string): string {
  return readFileSync(join(PROJECT_ROOT, path), 'utf8');
}

/** The rows of the table in CONTRIBUTING.md. */
function rows(): Row[] {
  const [, section = ''] = readProject('CONTRIBUTING.md').split('## How to add');
  const [table = ''] = section.split('\n## ');
  return table
    .split('\n')
    .filter((line) => line.startsWith('| ') && !line.startsWith('| what '))
    .map((line) => {
      const [, what = '', files = '', edited = ''] = line.split('|').map((cell) => cell.trim());
      const pathsOf = (cell: string) =>
        Array.from(cell.matchAll(/`((?:src|tests|docs)\/[\w./-]*)`/g), ([, path = '']) => path);
      return { what, folders: pathsOf(files).filter((path) => path.endsWith('/')), edited: pathsOf(edited) };
    });
}

/**
 * The registry of a row, if it has one: a list that most files of the row's folder are on. What is added there is a file, and a
 * statement in the list, because those before it are.
 */
const REGISTRIES: Readonly<Record<string, { readonly folder: string; readonly list: string }>> = {
  'a tensor format': { folder: 'src/formats/', list: 'src/formats/formats.ts' },
  'an architecture of known blocks': {
    folder: 'src/model/architectures/',
    list: 'src/model/architectures/architectures.ts',
  },
  'a sampler stage': { folder: 'src/ops/sampling/stages/', list: 'src/ops/sampling/sampling-row.ts' },
  'a byte source': { folder: 'src/io/', list: 'src/io/index.ts' },
  'an endpoint': { folder: 'src/server/service/', list: 'src/server/endpoints.ts' },
  'a CLI command': { folder: 'src/cli/commands/', list: 'src/cli/commands/index.ts' },
};

test('the table of what can be added names folders and files that are there', () => {
  const table = rows();
  assert.ok(table.length >= 10, `${table.length} rows were read`);
  const gone = table.flatMap(({ what, folders, edited }) =>
    [...folders, ...edited]
      .filter((path) => !existsSync(join(PROJECT_ROOT, path)))
      .map((path) => `${what}: ${path}`),
  );
  assert.deepEqual(gone, []);
});

test('what is in a folder of the table is on the list that the table names, once', () => {
  const table = new Map(rows().map((row) => [row.what, row]));
  for (const [what, { folder, list }] of Object.entries(REGISTRIES)) {
    const row = table.get(what);
    assert.ok(row?.folders.includes(folder) && row.edited.includes(list), `the row of ${what}`);
    const text = readProject(list);
    const files = readdirSync(join(PROJECT_ROOT, folder)).filter(
      (name) => name.endsWith('.ts') && name !== basename(list),
    );
    const listed = files.filter((name) => text.includes(`/${name}'`));
    assert.ok(listed.length * 2 > files.length, `${list} lists ${listed.length} of ${files.length} files`);
    for (const name of listed) {
      assert.equal(text.split(`/${name}'`).length, 2, `${list} names ${name} once`);
    }
  }
});

test('every architecture, sampler stage and command is on its list', () => {
  const whole = ['an architecture of known blocks', 'a sampler stage', 'a CLI command'];
  for (const what of whole) {
    const { folder, list } = REGISTRIES[what] ?? assert.fail(what);
    const text = readProject(list);
    const unlisted = readdirSync(join(PROJECT_ROOT, folder)).filter(
      (name) =>
        name.endsWith('.ts') && ![basename(list), 'index.ts'].includes(name) && !text.includes(`/${name}'`),
    );
    assert.deepEqual(unlisted, [], what);
  }
});
