import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { COMMANDS } from '../../src/cli/commands/index.ts';
import { PROJECT_ROOT } from '../support/project.ts';

const run = promisify(execFile);
const README = readFileSync(join(PROJECT_ROOT, 'README.md'), 'utf8');

test('the JavaScript example runs as it stands', async (t) => {
  const file = join(folderInPackage(t), 'example.mjs');
  writeFileSync(file, example('js'));
  const { stdout } = await run(process.execPath, [file], { cwd: PROJECT_ROOT });
  assert.equal(stdout, 'The capital of France is Paris.');
});

test('the TypeScript example compiles strictly and runs', async (t) => {
  const folder = folderInPackage(t);
  const file = join(folder, 'example.mts');
  writeFileSync(file, example('ts'));
  const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc');
  const options = [
    '--strict',
    '--target',
    'es2022',
    '--module',
    'nodenext',
    '--types',
    'node',
    '--skipLibCheck',
  ];
  const lib = ['--lib', 'es2023,esnext.disposable,dom,dom.asynciterable'];
  await run(process.execPath, [tsc, '--ignoreConfig', ...options, ...lib, file], { cwd: PROJECT_ROOT });
  const example_ = join(folder, 'example.mjs');
  const { stdout, stderr } = await run(process.execPath, [example_], { cwd: PROJECT_ROOT });
  assert.match(stdout, /\S[\s\S]*\n\d+ tokens\n$/);
  const [, loaded, total] = /(\d+) of (\d+) bytes\n$/.exec(stderr) ?? [];
  assert.equal(loaded, total, 'progress ends at the end');
});

test('every command is in the table, and the first lines are the two commands', () => {
  for (const { name } of COMMANDS) assert.ok(README.includes(`| \`rocmforge ${name}\` |`), name);
  assert.match(README, /^# rocmforge\n\n```sh\nnpm ci && npm start .*\nnpm ci && npm test .*\n```\n/);
});

/** The only block of that language. */
function example(language: string): string {
  const blocks = Array.from(README.matchAll(new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``, 'g')));
  assert.equal(blocks.length, 1, language);
  return blocks[0]?.[1] ?? '';
}

/** A folder from which the package finds itself by name. */
function folderInPackage(t: TestContext): string {
  const parent = join(PROJECT_ROOT, 'dist/tests');
  mkdirSync(parent, { recursive: true });
  const folder = mkdtempSync(join(parent, 'readme-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
