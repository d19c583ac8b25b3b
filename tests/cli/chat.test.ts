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
  const args = ['chat', model, '-d', 'reference', '-n', '4', '--ignore-end', '--seed', '1'];
  const input = `/system Be brief.\nhi\nhi again\n/save ${saved}\n/nonsense\n/quit\nnever said\n`;
  const { code, stdout, stderr } = await runCli(t, args, input);
  assert.equal(code, 0);
  assert.match(stderr, /There is no \/nonsense; \/help lists what there is\./);
  const { system, messages }: { system: string; messages: { role: string; content: string }[] } = JSON.parse(
    readFileSync(saved, 'utf8'),
  );
  assert.equal(system, 'Be brief.');
  assert.deepEqual(
    messages.map(({ role }) => role),
    ['user', 'assistant', 'user', 'assistant'],
  );
  assert.equal(stdout, `${messages[1]?.content}\n${messages[3]?.content}\n`);
});

test('questions are taken back, changed and asked again; conversations, options and models change', async (t) => {
  const [saved, other] = [join(temporaryFolder(t), 'saved.json'), await tinyModelFile(t)];
  const args = [
    'chat',
    '-d',
    'reference',
    '-m',
    await tinyModelFile(t),
    '-n',
    '3',
    '--ignore-end',
    '--greedy',
  ];
  const lines = [
    'hi',
    '/regenerate',
    '/edit hi hi',
    '"""',
    'hi',
    'hi"""',
    '/undo',
    `/save ${saved}`,
    '/reset',
    `/load ${saved}`,
    '/set max-tokens 1',
    '/set temperature hot',
    '/set nonsense 1',
    '/regenerate',
    `/model ${other}.missing`,
    `/model ${other}`,
    '/regenerate',
    '/image cat.png',
    '/load nowhere.json',
    '/edit',
    '/undo',
    '/undo',
  ];
  const { code, stdout, stderr } = await runCli(t, args, `${lines.join('\n')}\n`);
  assert.equal(code, 0);
  const answers = stdout.split('\n');
  assert.equal(answers.length, 7, 'four answers, two of one token, and the end');
  assert.equal(answers[1], answers[0], 'the same question greedily');
  const { messages } = JSON.parse(readFileSync(saved, 'utf8')) as { messages: { content: string }[] };
  assert.deepEqual(
    messages.map(({ content }) => content),
    ['hi hi', answers[2]],
  );
  assert.ok(answers[2]?.startsWith(answers[4] ?? '-'), 'the saved question, with fewer tokens');
  assert.equal(answers[5], answers[4], 'the other model has the same weights');
  for (const said of [
    /^max-tokens 1$/m,
    /temperature: found hot, expected a number/,
    /\/set: found nonsense, expected one of temperature/,
    /tiny\.gguf\.missing/,
    /a part of type image/,
    /nowhere\.json/,
    /\/edit: found nothing, expected the new text/,
    /none of the user, expected a question/,
  ])
    assert.match(stderr, said);
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
  assert.equal(code, 143);
  assert.doesNotMatch(stderr, /generated/, 'no answer was read to its end');
});
