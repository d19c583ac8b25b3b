import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { runCli, startCli, tinyModelFile } from '../support/run-cli.ts';
import { temporaryFolder } from '../support/temporary.ts';

const QUIET = { code: 0, signal: null, stderr: '' };

test('an answer goes to stdout, and nothing else anywhere', async (t) => {
  const base = ['run', '-d', 'reference', '-m', await tinyModelFile(t), '-n', '6', '--greedy'];
  const asked = await runCli(t, [...base, '-p', 'hi hi']);
  assert.deepEqual({ ...asked, stdout: undefined }, { ...QUIET, stdout: undefined });
  assert.match(asked.stdout, /^[\s\S]+\n$/);
  const piped = await runCli(t, base, 'hi hi\n');
  assert.deepEqual(piped, asked, 'standard input is the prompt, without its line end');
  const raw = await runCli(t, [...base, '--raw', '-p', 'hi hi']);
  assert.notEqual(raw.stdout, asked.stdout, 'the chat template changes the answer');
});

test('progress and timings are said where they are asked for', async (t) => {
  const base = ['run', '-d', 'reference', '-m', await tinyModelFile(t), '-n', '3', '-p', 'hi'];
  const { stderr } = await runCli(t, [...base, '-v']);
  // A machine that is slow says how far it is before.
  assert.match(stderr, /^(?:loading tiny\.gguf: .*\n)*loaded tiny\.gguf: .*KiB in \d+\.\d\d s\n/);
  assert.match(
    stderr,
    /prompt \d+ tokens, .*tok\/s \| generated 3 tokens.* \| loaded in .* s, first token [0-9.]+ s after the start of the process \| reference: /,
  );
  assert.equal((await runCli(t, [...base, '-v', '-q'])).stderr, '');
  assert.ok(!stderr.includes('\u001b'), 'no colours in a pipe');
});

test('--profile says where the time of the steps went, and writes a trace', async (t) => {
  const path = join(temporaryFolder(t), 'steps.json');
  const base = ['run', '-d', 'reference', '-m', await tinyModelFile(t), '-n', '5', '-p', 'hi'];
  const run = await runCli(t, [...base, '--profile', path]);
  assert.match(run.stderr, /^phase +steps +mean ms/m);
  for (const phase of ['dispatch', 'load', 'submit', 'wait', 'back', 'step', 'gap'])
    assert.match(run.stderr, new RegExp(`^${phase} +\\d+ +[\\d.]+`, 'm'));
  assert.match(run.stderr, /the device waited for the host [\d.]+ % of the time/);
  const { traceEvents } = JSON.parse(await readFile(path, 'utf8')) as { traceEvents: { ph: string }[] };
  assert.ok(traceEvents.filter(({ ph }) => ph === 'X').length >= 5 * 5);
});

test('phases are named with --log, as text and as JSON', async (t) => {
  const base = ['run', '-d', 'reference', '-m', await tinyModelFile(t), '-n', '3', '-p', 'hi'];
  const debug = await runCli(t, [...base, '--log', 'debug']);
  for (const phase of ['opened', 'planned', 'loaded', 'prompt read', 'generated']) {
    assert.match(debug.stderr, new RegExp(`^ *\\d+\\.\\d{3}s debug ${phase} `, 'm'));
  }
  const trace = await runCli(t, [...base, '--log', 'trace', '--log-json']);
  const lines = trace.stderr.trim().split('\n');
  const steps = lines.map((line) => JSON.parse(line)).filter(({ level }) => level === 'trace');
  assert.equal(steps.filter(({ msg }) => msg === 'step').length, 3);
});

test('--json prints one object with the answer and what it took', async (t) => {
  const model = await tinyModelFile(t);
  const base = ['run', '-d', 'reference', '-m', model, '-n', '4', '-p', 'hi', '--ignore-end', '--seed', '7'];
  const { code, stdout } = await runCli(t, [...base, '--json', '--logprobs', '2']);
  assert.equal(code, 0);
  const result = JSON.parse(stdout);
  assert.equal(result.model, model);
  assert.equal(result.device.backend, 'reference');
  assert.equal(result.reason, 'length');
  assert.equal(result.generatedTokens, 4);
  assert.equal(result.ids.length, 4);
  assert.equal(result.logProbabilities.length, 4);
  for (const [i, { id, logProbability, alternatives }] of result.logProbabilities.entries()) {
    assert.equal(id, result.ids[i]);
    assert.ok(logProbability <= 0);
    assert.equal(alternatives.length, 2);
  }
  for (const name of ['loadSeconds', 'promptSeconds', 'promptTokensPerSecond', 'generatedTokensPerSecond']) {
    assert.ok(result[name] > 0, name);
  }
  const again = JSON.parse((await runCli(t, [...base, '--json'])).stdout);
  assert.equal(again.text, result.text, 'same seed, same text');
  assert.equal(again.logProbabilities, undefined);
});

test('--json-stream prints the pieces, then the object', async (t) => {
  const base = [
    'run',
    '-d',
    'reference',
    '-m',
    await tinyModelFile(t),
    '-n',
    '5',
    '-p',
    'hi',
    '--ignore-end',
  ];
  const { stdout } = await runCli(t, [...base, '--json-stream']);
  const lines = stdout.trim().split('\n');
  const pieces = lines.map((line) => JSON.parse(line));
  const result = pieces.pop();
  assert.equal(pieces.map(({ text }) => text).join(''), result.text);
  assert.deepEqual(
    pieces.flatMap(({ id }) => id ?? []),
    result.ids,
  );
});

test('a stop string ends the text before it', async (t) => {
  const base = ['run', '-d', 'reference', '-m', await tinyModelFile(t), '-p', 'hi', '--greedy', '--json'];
  const whole = JSON.parse((await runCli(t, [...base, '-n', '12', '--ignore-end'])).stdout);
  const stop = Array.from<string>(whole.text).at(4) ?? '';
  const stopped = JSON.parse((await runCli(t, [...base, '--stop', stop, '--ignore-end'])).stdout);
  assert.equal(stopped.text, whole.text.slice(0, whole.text.indexOf(stop)));
  assert.deepEqual([stopped.reason, stopped.stop], ['stop', stop]);
});

test('a logit bias forbids a token', async (t) => {
  const base = ['run', '-d', 'reference', '-m', await tinyModelFile(t), '-p', 'hi', '--greedy', '--json'];
  const [first] = JSON.parse((await runCli(t, [...base, '-n', '1', '--ignore-end'])).stdout).ids;
  const other = await runCli(t, [...base, '-n', '1', '--ignore-end', '--logit-bias', `${first}=-inf`]);
  assert.notEqual(JSON.parse(other.stdout).ids[0], first);
});

test('without a prompt a default is asked; an open pipe is waited for as long as said', async (t) => {
  const base = ['run', '-d', 'reference', '-m', await tinyModelFile(t), '-n', '3', '--seed', '1', '--json'];
  const empty = JSON.parse((await runCli(t, base, '\n')).stdout);
  assert.equal(empty.prompt, 'What is the capital of France?');
  const waiting = startCli(t, ...base, '--stdin-timeout', '0.2');
  const result = await waiting.result;
  assert.equal(result.code, 0);
  assert.deepEqual(JSON.parse(result.stdout).ids, empty.ids);
});

test('that a prompt is waited for is said', async (t) => {
  const base = ['run', '-d', 'reference', '-m', await tinyModelFile(t), '-n', '3', '-v', '--json'];
  const { process, result } = startCli(t, ...base);
  let stderr = '';
  for await (const chunk of process.stderr) {
    stderr += chunk;
    if (stderr.includes('waiting for the prompt on standard input')) break;
  }
  process.stdin.end('hi\n');
  assert.equal(JSON.parse((await result).stdout).prompt, 'hi');
});

test('a reader that leaves ends the answer quietly', async (t) => {
  const model = await tinyModelFile(t);
  const running = startCli(t, 'run', '-d', 'reference', '-m', model, '-p', 'hi', '--ignore-end');
  running.process.stdin.end();
  await once(running.process.stdout, 'data');
  running.process.stdout.destroy();
  const { code, stderr } = await running.result;
  assert.deepEqual({ code, stderr }, { code: 0, stderr: '' });
});

test('--chat-template and --chat-template-file take the place of the template in the file', async (t) => {
  const base = ['run', '-d', 'reference', '-m', await tinyModelFile(t), '-n', '6', '--greedy'];
  const raw = await runCli(t, [...base, '--raw', '-p', 'hi hi']);
  const source = '{{ messages[0].content }}';
  const given = await runCli(t, [...base, '-p', 'hi hi', '--chat-template', source]);
  assert.deepEqual({ code: given.code, stderr: given.stderr }, { code: 0, stderr: '' });
  assert.equal(given.stdout.trim(), raw.stdout.trim(), 'a template that adds nothing is the plain prompt');
  const path = join(temporaryFolder(t), 'own.jinja');
  await writeFile(path, source);
  const read = await runCli(t, [...base, '-p', 'hi hi', '--chat-template-file', path]);
  assert.equal(read.stdout, given.stdout);
  for (const [flags, expected] of [
    [['--chat-template', 'other'], 'default'],
    [['--chat-template', '{% if %}'], 'invalid Jinja'],
    [['--chat-template-file', `${path}.missing`], '--chat-template-file'],
  ] as const) {
    const refused = await runCli(t, [...base, '-p', 'hi', ...flags]);
    assert.notEqual(refused.code, 0);
    assert.match(refused.stderr, new RegExp(expected));
  }
});

test('--prompt-cache keeps the state of a run for the next one', async (t) => {
  const folder = temporaryFolder(t);
  const path = join(folder, 'state.bin');
  const model = await tinyModelFile(t);
  const base = ['run', '-d', 'reference', '-m', model, '--raw', '-n', '4', '--greedy', '--json'];
  const answer = async (prompt: string, ...flags: string[]) => {
    const { code, stdout, stderr } = await runCli(t, [...base, '-p', prompt, ...flags]);
    assert.equal(code, 0, stderr);
    return JSON.parse(stdout) as { text: string; cachedTokens: number; promptTokens: number };
  };
  const cache = ['--prompt-cache', path];
  const first = await answer('hi hi hi', ...cache);
  assert.equal(first.cachedTokens, 0);
  const again = await answer('hi hi hi', ...cache);
  assert.deepEqual([again.text, again.cachedTokens], [first.text, first.promptTokens - 1]);
  const longer = await answer('hi hi hi ho', ...cache);
  assert.ok(longer.cachedTokens > 0);
  assert.equal(longer.text, (await answer('hi hi hi ho')).text);
  await writeFile(path, 'something else');
  const other = await runCli(t, [...base, '-p', 'hi', ...cache]);
  assert.notEqual(other.code, 0);
  assert.match(other.stderr, /saved state/);
  assert.equal(await readFile(path, 'utf8'), 'something else', 'it is left alone');
  const split = ['run', '-d', 'cpu', '--gpus', '2', '-m', model, '--raw', '-n', '4', '-p', 'hi'];
  const ranks = await runCli(t, [...split, '--prompt-cache', join(folder, 'ranks.bin')]);
  assert.deepEqual([ranks.code, ranks.stdout], [2, ''], 'before there is an answer');
  assert.match(ranks.stderr, /--prompt-cache: found a model whose layers are split/);
});
