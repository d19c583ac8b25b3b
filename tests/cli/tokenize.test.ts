import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { cliProcess, runCli } from '../support/run-cli.ts';

const TEXT = 'Hello wörld 😀 你好';

test('a text becomes ids and comes back', async (t) => {
  const { code, stdout } = await runCli(t, ['tokenize', TEXT]);
  assert.equal(code, 0);
  assert.match(stdout, /^\d+( \d+)+\n$/);
  const piped = await runCli(t, ['tokenize'], TEXT);
  assert.equal(piped.stdout, stdout);
  const back = await runCli(t, ['tokenize', '--decode', stdout.trim().replaceAll(' ', ',')]);
  assert.equal(back.stdout, `${TEXT}\n`);
  const pipedBack = await runCli(t, ['tokenize', '--decode', '--json'], stdout);
  assert.equal(JSON.parse(pipedBack.stdout).text, TEXT);
});

test('standard input counts to the last byte', async (t) => {
  const ids = async (input: string) => (await runCli(t, ['tokenize'], input)).stdout;
  assert.notEqual(await ids('a\n'), await ids('a'));
});

const tokenize = cliProcess({ after });

test('pieces say what each token stands for', async () => {
  const { stdout } = await tokenize(['tokenize', '--pieces', '--json', TEXT]);
  const { count, ids, pieces } = JSON.parse(stdout);
  assert.deepEqual([ids.length, pieces.length], [count, count]);
  assert.ok(pieces.includes('<f0>'), 'bytes of a character are shown in hexadecimal');
  const lines = await tokenize(['tokenize', '--pieces', 'a\nb']);
  assert.match(lines.stdout, /^\d+\ta\n\d+\t\\n\n\d+\tb\n$/);
});

test('control tokens are read and written only where that is asked for', async () => {
  const name = '<|im_start|>';
  const text = await tokenize(['tokenize', '--json', name]);
  assert.ok(JSON.parse(text.stdout).count > 1);
  const token = await tokenize(['tokenize', '--json', '--special', name]);
  assert.deepEqual(JSON.parse(token.stdout).ids, [1]);
  assert.equal((await tokenize(['tokenize', '--decode', '1'])).stdout, '\n');
  assert.equal((await tokenize(['tokenize', '--decode', '1', '--special'])).stdout, `${name}\n`);
});
