import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { PROJECT_ROOT } from '../support/project.ts';
import { BUNDLED, ENDLESS, runCli, startCli } from '../support/run-cli.ts';
import { sharedPath } from '../support/shared.ts';
import { temporaryFolder } from '../support/temporary.ts';

test('npm start answers a default prompt, with progress and timings on stderr', async (t) => {
  const { scripts } = JSON.parse(readFileSync(join(PROJECT_ROOT, 'package.json'), 'utf8'));
  const [node, main, ...args] = scripts.start.split(' ');
  assert.deepEqual([node, main], ['node', 'dist/src/cli/rocmforge.cjs']);
  const { code, stdout, stderr } = await runCli(t, args);
  assert.equal(code, 0);
  assert.equal(stdout, 'The capital of France is Paris.\n');
  assert.match(
    stderr,
    /^loaded minimind2-small-q4_k_m\.gguf: .*\n> What is the capital of France\?\nprompt \d+ tokens, /m,
  );
});

test('the bundled model knows a capital, on one thread as on two', async (t) => {
  for (const threads of ['1', '2']) {
    const { stdout } = await runCli(t, ['run', '--greedy', '-t', threads, '-p', '中国的首都是哪里？']);
    assert.equal(stdout, '中国的首都是北京。\n');
  }
});

const QUESTION = 'What is the capital of France?';
test('as its own draft it draws the same answer, and every draft token is accepted', async (t) => {
  const drawn = ['run', '--json', '-p', QUESTION, '-n', '24', '--temperature', '1', '--seed', '3'];
  const plain = JSON.parse((await runCli(t, drawn)).stdout);
  const speculative = JSON.parse(
    (await runCli(t, [...drawn, '--draft', BUNDLED, '--draft-max', '3'])).stdout,
  );
  assert.deepEqual(speculative.ids, plain.ids);
  assert.deepEqual([plain.proposedTokens, speculative.proposedTokens > 6], [0, true]);
  assert.equal(speculative.acceptedTokens, speculative.proposedTokens);
});

test('a check of a benchmark with drafts computes without them', async (t) => {
  const draft = ['--draft', BUNDLED, '--draft-max', '2', '--draft-min', '1', '--draft-p-min', '0.1'];
  const args = ['bench', '-d', 'cpu', '-p', '4', '-n', '4', '-r', '1', '--check', 'cpu', '--json', ...draft];
  const { code, stdout, stderr } = await runCli(t, args);
  assert.equal(code, 0, stderr);
  assert.ok(JSON.parse(stdout).checks.length > 0, stdout);
});

const q8 = sharedPath('models/bundle/minimind2-small-q8_0.gguf');
test('in eight bits it answers the same', { skip: q8 === undefined && 'no ../shared' }, async (t) => {
  const { stdout } = await runCli(t, ['run', '--greedy', '-m', q8 ?? '', '-p', QUESTION]);
  assert.equal(stdout, 'The capital of France is Paris.\n');
});

test('with weights in 40 % of its size it answers the same, and says what loading did', async (t) => {
  const trace = join(temporaryFolder(t), 'trace.json');
  const { size } = statSync(BUNDLED);
  const budget = ['--weight-memory', String(Math.floor(0.4 * size))];
  const { stdout } = await runCli(t, ['run', '--greedy', '-p', QUESTION, ...budget, '--load-trace', trace]);
  assert.equal(stdout, 'The capital of France is Paris.\n');
  const { traceEvents } = JSON.parse(readFileSync(trace, 'utf8'));
  assert.ok(traceEvents.some(({ args }: { args: { name?: string } }) => args.name === 'reader 0'));
});

test('what is loaded when it is needed answers the same, and is in the trace, too', async (t) => {
  const trace = join(temporaryFolder(t), 'trace.json');
  const lazily = ['--load', 'lazy', '--load-trace', trace];
  const { stdout } = await runCli(t, ['run', '--greedy', '-p', QUESTION, ...lazily]);
  assert.equal(stdout, 'The capital of France is Paris.\n');
  const { traceEvents } = JSON.parse(readFileSync(trace, 'utf8'));
  assert.ok(traceEvents.some(({ args }: { args: { name?: string } }) => args.name === 'reader 0'));
});

test('in every other load mode it answers the same', async (t) => {
  for (const mode of ['eager', 'hybrid', 'sync']) {
    const { stdout } = await runCli(t, ['run', '--greedy', '-p', QUESTION, '--load', mode]);
    assert.equal(stdout, 'The capital of France is Paris.\n', mode);
  }
});

test('Ctrl-C ends an answer of the CPU device with 130, its threads ended', async (t) => {
  const { process, result } = startCli(t, 'run', '-p', 'hi', ...ENDLESS);
  await once(process.stdout, 'data');
  process.kill('SIGINT');
  const { code, signal, stderr } = await result;
  assert.deepEqual({ code, signal, stderr }, { code: 130, signal: null, stderr: '' });
});

test('a text that fills the context ends with its length', async (t) => {
  const { stdout } = await runCli(t, ['run', '-c', '64', '-p', 'hi', '--ignore-end', '--json', '--greedy']);
  const { reason, promptTokens, generatedTokens } = JSON.parse(stdout);
  assert.equal(reason, 'length');
  assert.ok([64, 65].includes(promptTokens + generatedTokens), `${promptTokens} + ${generatedTokens}`);
});
