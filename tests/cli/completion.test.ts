import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { COMMANDS } from '../../src/cli/commands/index.ts';
import { runCli, runCliEach } from '../support/run-cli.ts';
import { temporaryFolder } from '../support/temporary.ts';

test('the scripts have every command and option', async (t) => {
  const shells = ['bash', 'zsh', 'fish'];
  const scripts = await runCliEach(
    t,
    [...shells, 'tcsh'].map((shell) => ['completion', shell]),
  );
  for (const [i, shell] of shells.entries()) {
    const { code, stdout, stderr } = scripts[i] ?? assert.fail(shell);
    assert.deepEqual({ code, stderr }, { code: 0, stderr: '' });
    for (const { name, read } of COMMANDS) {
      const { options } = await read();
      for (const { long } of options) {
        const flag = shell === 'fish' ? `-l ${long?.slice(2)} ` : String(long);
        assert.ok(stdout.includes(name) && stdout.includes(flag), `${shell}: ${name} ${long}`);
      }
    }
  }
  assert.equal(scripts.at(-1)?.code, 2);
});

const bash = spawnSync('bash', ['-c', 'complete -p; exit 0']).status === 0;

test('bash completes commands, options and values', { skip: !bash && 'needs bash' }, async (t) => {
  const script = join(temporaryFolder(t), 'completion.bash');
  writeFileSync(script, (await runCli(t, ['completion', 'bash'])).stdout);
  const complete = (...words: string[]) => {
    const line = `source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _rocmforge; echo "\${COMPREPLY[*]}"`;
    const text = execFileSync('bash', ['-c', line, 'bash', script, 'rocmforge', ...words], {
      encoding: 'utf8',
    });
    return text.trim().split(' ');
  };
  assert.deepEqual(complete('compl'), ['completion']);
  assert.deepEqual(complete('run', '--max-t'), ['--max-tokens']);
  assert.deepEqual(complete('run', '--cache-type', 'q8'), ['q8_0']);
  assert.deepEqual(complete('-q', 'list', '--js'), ['--json']);
  assert.deepEqual(complete('run', 'mod'), [''], 'the rest is for files');
});
