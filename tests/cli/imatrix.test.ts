import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { loadTensorFloats } from '../../src/gguf/index.ts';
import { openGguf } from '../../src/node/open-gguf.ts';
import { CHECKPOINT_TEXT, writeCheckpoint } from '../support/write-checkpoint.ts';
import { PROJECT_ROOT } from '../support/project.ts';
import { runCli } from '../support/run-cli.ts';
import { temporaryFolder } from '../support/temporary.ts';

/** By weight: the rows of each expert, the sums of all its columns, and that of the first column. */
type Sums = Readonly<Record<string, { counts: number[]; sums: number[]; first: number }>>;

/** What llama-imatrix (`-c 64`) writes of the checkpoint `qwen3moe` in f32: `bench/importance.ts`. */
const GOLDEN = JSON.parse(readFileSync(join(PROJECT_ROOT, 'tests/fixtures/importance.json'), 'utf8')) as Sums;

/** f32 sums in another order. */
const TOLERANCE = 1e-3;

test('imatrix sums what llama-imatrix sums, of experts too, and quantize takes it', async (t) => {
  const folder = temporaryFolder(t);
  const [model, matrix, text] = ['m.gguf', 'm.imatrix.gguf', 'text.txt'].map((name) =>
    join(folder, name),
  ) as [string, string, string];
  writeFileSync(text, `${CHECKPOINT_TEXT}\n`);
  const made = await runCli(t, [
    ...['convert', writeCheckpoint(folder, 'qwen3moe'), '-o', model, '--outtype', 'f32'],
  ]);
  assert.equal(made.code, 0, made.stderr);
  const done = await runCli(t, [
    ...['imatrix', '-m', model, '-f', text, '-o', matrix, '-c', '64', '-d', 'cpu', '-t', '1', '--json'],
  ]);
  assert.equal(done.code, 0, done.stderr);
  const report = JSON.parse(done.stdout) as { entries: number; missing: string[] };
  assert.deepEqual([report.entries, report.missing], [Object.keys(GOLDEN).length, []]);
  await using gguf = await openGguf(matrix);
  for (const [weight, { counts, sums, first }] of Object.entries(GOLDEN)) {
    assert.deepEqual([...(await loadTensorFloats(gguf.requireTensor(`${weight}.counts`)))], counts, weight);
    const squares = await loadTensorFloats(gguf.requireTensor(`${weight}.in_sum2`));
    const width = squares.length / counts.length;
    assertClose(squares[0], first, weight);
    for (const [expert, sum] of sums.entries()) {
      const own = squares.subarray(expert * width, (expert + 1) * width);
      assertClose(
        own.reduce((a, b) => a + b, 0),
        sum,
        weight,
      );
    }
  }
  const smaller = await runCli(t, [
    ...['quantize', model, 'Q4_0', '--imatrix', matrix, '-o', join(folder, 'q.gguf'), '-t', '1', '--json'],
  ]);
  assert.equal(smaller.code, 0, smaller.stderr);
});

test('imatrix says what it lacks', async (t) => {
  const nothing = await runCli(t, ['imatrix']);
  assert.match(nothing.stderr, /--file/);
  const folder = temporaryFolder(t);
  writeFileSync(join(folder, 'short.txt'), 'too short');
  const short = await runCli(t, ['imatrix', '-f', join(folder, 'short.txt'), '-o', join(folder, 'x.gguf')]);
  assert.match(short.stderr, /the text has \d+ tokens/);
  assert.notEqual(short.code, 0);
});

function assertClose(found: number | undefined, expected: number, what: string): void {
  const difference = Math.abs((found ?? Number.NaN) - expected);
  assert.ok(difference <= TOLERANCE * Math.abs(expected), `${what}: ${found}, expected ${expected}`);
}
