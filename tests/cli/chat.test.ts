import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ENDLESS, runCli, startCli, tinyModelFile } from '../support/run-cli.ts';
import { temporaryFolder } from '../support/temporary.ts';

test('each line of a pipe is a turn, and the conversation can be saved', async (t) => {
  const saved = join(temporaryFolder(t), 'saved.json');
  const model = await tinyModelFile(t);
  const args = ['chat', '-d', 'reference', '-m', model, '-n', '4', '--ignore-end', '--seed', '1'];
  const input = `/system Be brief.\nhi\nhi again\n/save ${saved}\n/nonsense\n/quit\nnever said\n`;
  const { code, stdout, stderr } = await runCli(t, args, input);
  assert.equal(code, 0);
  assert.match(stderr, /There is no \/nonsense; \/help lists what there is\./);
  const messages: { role: string; content: string }[] = JSON.parse(readFileSync(saved, 'utf8'));
  assert.deepEqual(
    messages.map(({ role }) => role),
    ['system', 'user', 'assistant', 'user', 'assistant'],
  );
  assert.equal(stdout, `${messages[2]?.content}\n${messages[4]?.content}\n`);
});

test('a context that is full is said, and a reset helps', async (t) => {
  const args = [
    'chat',
    '-d',
    'reference',
    '-m',
    await tinyModelFile(t),
    '-n',
    '4',
    '-c',
    '64',
    '--ignore-end',
  ];
  const input = `${'hi '.repeat(60)}\n/reset\nhi\n`;
  const { code, stdout, stderr } = await runCli(t, args, input);
  assert.equal(code, 0);
  assert.match(stderr, /exceeds the available context size of 64\nfix: .*\nOr start over with \/reset\.\n/);
  assert.match(stdout, /^[^\n]+\n/, 'an answer after the reset');
});

test('Ctrl-C stops the answer and keeps the session; without an answer it leaves', async (t) => {
  const args = ['chat', '-d', 'reference', '-m', await tinyModelFile(t), ...ENDLESS, '--log', 'debug'];
  const { process, result } = startCli(t, ...args);
  process.stdin.write('hi\n');
  await once(process.stdout, 'data');
  process.kill('SIGINT');
  process.stdin.write('/help\n');
  let stderr = '';
  for await (const chunk of process.stderr) {
    stderr += chunk;
    if (stderr.includes('/quit')) break;
  }
  process.kill('SIGINT');
  const { code, signal } = await result;
  assert.deepEqual({ code, signal }, { code: 130, signal: null });
});

test('SIGTERM ends the answer and the conversation', async (t) => {
  const model = await tinyModelFile(t);
  const { process, result } = startCli(t, 'chat', '-d', 'reference', '-m', model, ...ENDLESS, '-v');
  process.stdin.write('hi\nhi again\n');
  await once(process.stdout, 'data');
  process.kill('SIGTERM');
  const { code, stderr } = await result;
  assert.equal(code, 130);
  assert.doesNotMatch(stderr, /generated/, 'no answer was read to its end');
});
