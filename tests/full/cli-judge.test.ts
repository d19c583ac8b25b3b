import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fixture } from '../support/fixture.ts';
import { runCli, startCli, tinyModelFile } from '../support/run-cli.ts';
import { temporaryFolder } from '../support/temporary.ts';

const GOLDEN = fixture('goldens/minimind2-small-q4_k_m.forced.jsonl');
const BENCH = ['-d', 'reference', '-p', '4', '-n', '2', '-r', '2'];

test('synth writes a model that runs, and says where', async (t) => {
  const path = join(temporaryFolder(t), 'tiny.gguf');
  const written = await runCli(t, [
    'synth',
    'llama-tiny',
    '-f',
    'q8_0',
    '--layers',
    '1',
    '-o',
    path,
    '--json',
  ]);
  assert.equal(written.code, 0, written.stderr);
  const report = JSON.parse(written.stdout);
  assert.equal(report.path, path);
  assert.equal(report.byteLength, readFileSync(path).length);
  assert.equal(report.shape.layers, 1);
  const run = await runCli(t, [
    'run',
    '-m',
    path,
    '-d',
    'reference',
    '--raw',
    '-p',
    'Hello',
    '-n',
    '3',
    '--json',
  ]);
  assert.equal(run.code, 0, run.stderr);
  assert.ok(JSON.parse(run.stdout).ids.length > 0);
});

test('synth refuses formats and shapes that it does not know', async (t) => {
  const format = await runCli(t, ['synth', 'llama-tiny', '-f', 'q9']);
  assert.deepEqual([format.code, format.stdout], [2, '']);
  assert.match(format.stderr, /found q9, expected one of f32, .*q4_0/);
  const shape = await runCli(t, ['synth', 'llama-9']);
  assert.equal(shape.code, 2);
  assert.match(shape.stderr, /llama-2-7b/);
});

test('Ctrl-C during synth leaves no file', async (t) => {
  const folder = temporaryFolder(t);
  const path = join(folder, 'big.gguf');
  const { process: synth, result } = startCli(t, 'synth', 'llama-2-7b', '-f', 'q8_0', '-o', path, '-v');
  let isOver = false;
  result.finally(() => (isOver = true)).catch(() => {});
  while (readdirSync(folder).length === 0) {
    assert.ok(!isOver, 'it ended before it wrote anything');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  synth.kill('SIGINT');
  assert.equal((await result).code, 130);
  assert.deepEqual(readdirSync(folder), []);
});

test('perplexity of a text, by chunks', async (t) => {
  const folder = temporaryFolder(t);
  const text = join(folder, 'text.txt');
  writeFileSync(text, `${'hi there, '.repeat(20)}\n`);
  const args = ['perplexity', '-m', await tinyModelFile(t), '-d', 'reference', '-f', text, '-c', '16'];
  const { code, stdout, stderr } = await runCli(t, [...args, '--chunks', '3', '--json', '-v']);
  assert.equal(code, 0, stderr);
  const report = JSON.parse(stdout);
  assert.deepEqual([report.chunk, report.chunks, report.tokens], [3, 3, 3 * 7]);
  // 261 tokens of random weights: near a guess.
  assert.ok(report.perplexity > 100 && report.perplexity < 700, `${report.perplexity}`);
  assert.match(stderr, /\[3\/3\] \d+\.\d{4}/);
  const short = await runCli(t, [...args.slice(0, -1), '4096']);
  assert.equal(short.code, 1);
  assert.match(short.stderr, /perplexity needs at least 8192/);
});

test('a golden is compared, and limits that are missed fail', async (t) => {
  const args = ['perplexity', '--golden', GOLDEN, '--max-difference', '1e-9', '--json'];
  const { code, stdout, stderr } = await runCli(t, [...args, '--min-agreement', '0.95']);
  assert.equal(code, 1);
  const report = JSON.parse(stdout);
  assert.equal(report.sequences, 4);
  assert.ok(report.clearAgreement > 0.95);
  assert.equal(report.missed.length, 1);
  assert.match(stderr, /missed: a logit differs by/);
  const neither = await runCli(t, ['perplexity']);
  assert.equal(neither.code, 2);
  assert.match(neither.stderr, /--file or --golden/);
});

test('bench says what a draft gains', async (t) => {
  const model = await tinyModelFile(t);
  // The first steps measure what a step without draft tokens takes.
  const draft = ['--draft', model, '--draft-device', 'reference', '--draft-max', '2', '--deterministic'];
  const long = [...BENCH, '-n', '16'];
  const { code, stdout, stderr } = await runCli(t, ['bench', '-m', model, ...long, ...draft, '--json']);
  assert.equal(code, 0, stderr);
  const { results } = JSON.parse(stdout);
  const speculative = results.find(({ test: name }: { test: string }) => name.includes('speculative'));
  // All drafts are right. Where they seem to gain nothing, which depends on time, there are none.
  assert.ok([0, 1].includes(speculative?.speculative.accepted), stdout);
  assert.ok(speculative.speculative.ratio > 0);
  assert.doesNotMatch(stderr, /NaN/);
  const alone = await runCli(t, ['bench', '-m', model, ...BENCH, '--draft-max', '2']);
  assert.equal(alone.code, 2);
  assert.match(alone.stderr, /--draft-max: found no --draft/);
});

test('bench saves, compares, and fails when it is slower than allowed', async (t) => {
  const model = await tinyModelFile(t);
  const path = join(temporaryFolder(t), 'before.json');
  const saved = await runCli(t, ['bench', '-m', model, ...BENCH, '--save', path, '--json']);
  assert.equal(saved.code, 0, saved.stderr);
  const record = JSON.parse(readFileSync(path, 'utf8'));
  assert.deepEqual(JSON.parse(saved.stdout), record);
  assert.deepEqual(
    record.results.map(({ test: name, all }: { test: string; all: number[] }) => [name, all.length]),
    [
      ['pp4', 2],
      ['tg2', 2],
    ],
  );
  const compare = ['bench', '-m', model, ...BENCH, '--compare', path];
  const allowed = await runCli(t, [...compare, '--max-ratio', '1000']);
  assert.equal(allowed.code, 0, allowed.stderr);
  assert.match(allowed.stdout, /^pp4 +\d+\.\d+ times as long as before/m);
  const slower = await runCli(t, [...compare, '--max-ratio', '0.001']);
  assert.equal(slower.code, 1);
  writeFileSync(path, '{}');
  assert.equal((await runCli(t, compare)).code, 2);
});

test('bench measures one sequence at a depth, and refuses what it would not measure', async (t) => {
  const model = await tinyModelFile(t);
  const args = ['bench', '-m', model, ...BENCH];
  const deep = await runCli(t, [...args, '--depth', '3', '--json']);
  assert.equal(deep.code, 0, deep.stderr);
  const names = JSON.parse(deep.stdout).results.map(({ test: name }: { test: string }) => name);
  assert.deepEqual(names, ['pp4', 'tg2', 'tg2 @ d3']);
  const refused: [string[], RegExp][] = [
    [['-n', '0', '--parallel', '64'], /parallel: found 64 with 0 generated tokens/],
    [['-n', '0', '--depth', '3'], /depth: found 3 with 0 generated tokens/],
    [['-n', '0', '-p', '0'], /found 0 beside 0 prompt tokens/],
    [['--max-ratio', '2'], /--max-ratio: found no --compare/],
  ];
  for (const [flags, message] of refused) {
    const { code, stderr } = await runCli(t, [...args, ...flags]);
    assert.equal(code, 2, stderr);
    assert.match(stderr, message);
  }
});

test('bench takes lists of lengths, and prints tables with the columns of llama-bench', async (t) => {
  const args = [
    'bench',
    '-m',
    await tinyModelFile(t),
    '-d',
    'reference',
    '-p',
    '4,8',
    '-n',
    '2,0',
    '-r',
    '1',
  ];
  const markdown = await runCli(t, [...args, '--format', 'markdown']);
  assert.equal(markdown.code, 0, markdown.stderr);
  const lines = markdown.stdout.trimEnd().split('\n');
  assert.equal(lines[0], '| model | size | params | backend | test | t/s |');
  assert.deepEqual(
    lines
      .slice(2)
      .map((line) => /^\| tiny\.gguf \| .* \| reference \| (\w+) \| [\d.]+ ± 0\.00 \|$/.exec(line)?.[1]),
    ['pp4', 'pp8', 'tg2'],
  );
  const csv = await runCli(t, [...args, '--format', 'csv']);
  assert.match(csv.stdout, /^"model_filename","model_size",.*"avg_ts","stddev_ts"\n/);
  assert.match(csv.stdout, /"8","0","0","pp8","[\d.]+","0\.000000"\n.*"0","2","0","tg2",/);
  assert.equal((await runCli(t, [...args, '-p', '4,many'])).code, 2);
});

test('limits of a comparison that is not made are refused', async (t) => {
  const { code, stderr } = await runCli(t, ['perplexity', '-f', GOLDEN, '--min-agreement', '0.9']);
  assert.equal(code, 2);
  assert.match(stderr, /--min-agreement: found no --golden/);
});
