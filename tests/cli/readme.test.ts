import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { COMMANDS } from '../../src/cli/commands/index.ts';
import { examplesIn, folderInPackage } from '../support/guide-examples.ts';
import { PROJECT_ROOT } from '../support/project.ts';

const run = promisify(execFile);
const README = readFileSync(join(PROJECT_ROOT, 'README.md'), 'utf8');

test('the JavaScript example runs as it stands, wherever the program was started', async (t) => {
  const folder = folderInPackage();
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'example.mjs');
  writeFileSync(file, onlyExample('js'));
  const { stdout } = await run(process.execPath, [file], { cwd: folder });
  assert.equal(stdout, 'The capital of France is Paris.');
});

test('every command is in the table, and the first lines are what to type', () => {
  for (const { name } of COMMANDS) assert.ok(README.includes(`| \`rocmforge ${name}\` |`), name);
  assert.match(
    README,
    /^# rocmforge\n\n```sh\nnpx rocmforge chat hf:.*\nnpm install rocmforge .*\nnpm ci && npm start .*\nnpm ci && npm test .*\n```\n/,
  );
});

/** The only block of that language. */
function onlyExample(language: string): string {
  const blocks = examplesIn(README, language);
  assert.equal(blocks.length, 1, language);
  return blocks[0] ?? '';
}
