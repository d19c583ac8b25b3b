import assert from 'node:assert/strict';
import { statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { DivergenceReport } from '../../src/evaluate/divergence.ts';
import { runCli, tinyModelFile } from '../support/run-cli.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { tinyBytes } from '../support/tiny-model.ts';

const DEVICE = ['-d', 'reference'];

test('models are compared directly, and by a file of what the base predicts', async (t) => {
  const folder = temporaryFolder(t);
  const [base, other] = [await tinyModelFile(t), join(folder, 'q4.gguf')];
  writeFileSync(other, await tinyBytes('Q4_0', [['llama.context_length', { type: 'u32', value: 4096 }]]));
  const text = join(folder, 'text.txt');
  writeFileSync(text, `${'hi there, '.repeat(20)}\n`);
  const chunked = ['-f', text, '-c', '16', '--chunks', '3'];
  const compare = (...args: string[]) => runCli(t, ['compare', base, ...args, ...chunked, ...DEVICE]);
  const reportOf = ({ stdout }: { stdout: string }) => JSON.parse(stdout) as DivergenceReport;

  const same = reportOf(await compare(base, '--json'));
  assert.equal(same.positions, 3 * 7);
  assert.ok(same.divergence.maximum < 1e-6 && same.sameTop.mean === 1);
  // The base's log probabilities are in f32.
  assert.ok(Math.abs(same.perplexity.mean / same.basePerplexity.mean - 1) < 1e-6);

  const limited = await compare(other, '--json', '--max-divergence', '1e-9');
  assert.equal(limited.code, 1);
  assert.match(limited.stderr, /the mean KL divergence is [\d.]+, more than 1e-9/);
  const direct = reportOf(limited);
  assert.ok(direct.divergence.mean > 1e-6, `${direct.divergence.mean}`);

  const kept = join(folder, 'base.kld');
  const judge = ['perplexity', ...DEVICE];
  const written = await runCli(t, [...judge, '-m', base, ...chunked, '--kl-divergence-base', kept, '--json']);
  assert.equal(written.code, 0, written.stderr);
  const perplexity = JSON.parse(written.stdout).perplexity as number;
  assert.ok(Math.abs(perplexity / same.perplexity.mean - 1) < 1e-9);
  const again = [...judge, '--kl-divergence', '--kl-divergence-base', kept, '-m', other];
  const byFile = reportOf(await runCli(t, [...again, '--json']));
  assert.equal(byFile.positions, direct.positions);
  // The file keeps 16 bits of a range of at most 16.
  assert.ok(Math.abs(byFile.divergence.mean - direct.divergence.mean) < 3e-4);
  assert.ok(Math.abs(byFile.basePerplexity.mean / direct.basePerplexity.mean - 1) < 3e-4);
  const table = await runCli(t, again);
  assert.match(table.stdout, /^KL divergence +\d\.\d{6} ± \d\.\d{6}\n +median +\d/m);

  truncateSync(kept, statSync(kept).size - 1);
  const cut = await runCli(t, again);
  assert.equal(cut.code, 1);
  assert.match(cut.stderr, /it was not written to its end/);
});

test('what cannot be compared is refused', async (t) => {
  const model = await tinyModelFile(t);
  const cases: [args: string[], code: number, reason: RegExp][] = [
    [['compare', model], 2, /missing required argument 'model'/],
    [['perplexity', '-m', model, '--kl-divergence'], 2, /--kl-divergence: found no base/],
    [
      ['perplexity', '-m', model, '--kl-divergence', '--kl-divergence-base', model],
      2,
      /found something else, expected what perplexity --kl-divergence-base has written/,
    ],
    [['compare', model, model, '-f', 'nowhere.txt'], 2, /--file: found .*nowhere\.txt/],
  ];
  for (const [args, code, reason] of cases) {
    const result = await runCli(t, [...args, ...DEVICE], 'too short');
    assert.equal(result.code, code, result.stderr);
    assert.match(result.stderr, reason);
  }
});
