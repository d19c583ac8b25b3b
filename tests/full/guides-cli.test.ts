import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { examplesIn } from '../support/guide-examples.ts';
import { PROJECT_ROOT } from '../support/project.ts';
import { MAIN } from '../support/run-cli.ts';
import { temporaryFolder } from '../support/temporary.ts';

const run = promisify(execFile);

test('the commands of the page about the command line run as they are printed', async (t) => {
  const folder = temporaryFolder(t);
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  const program = join(bin, 'rocmforge');
  writeFileSync(program, `#!/bin/sh\nexec "${process.execPath}" "${MAIN}" "$@"\n`);
  chmodSync(program, 0o755);
  const env = {
    ...process.env,
    PATH: `${bin}${delimiter}${process.env.PATH}`,
    XDG_CONFIG_HOME: join(folder, 'config'),
    HF_HUB_CACHE: join(folder, 'hub'),
  };
  const page = readFileSync(join(PROJECT_ROOT, 'docs/cli.md'), 'utf8');
  const printed: string[] = [];
  for (const block of examplesIn(page, 'sh')) {
    const { stdout } = await run('bash', ['-euc', block], { cwd: folder, env });
    printed.push(stdout);
  }
  assert.match(printed[0] ?? '', /Paris/);
  assert.match(readFileSync(join(folder, 'answer.txt'), 'utf8'), /\S/);
  assert.equal(JSON.parse(printed[1]?.trimEnd().split('\n').at(-1) ?? '').generatedTokens <= 16, true);
  const settings = printed.find((text) => text.startsWith('config file:') || text.includes('\nconfig file:'));
  assert.match(settings ?? '', /^max-tokens +run +8 +the config file$/m);
});
