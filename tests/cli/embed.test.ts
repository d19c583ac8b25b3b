import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { loadModel } from '../../src/node/load-model.ts';
import { familyPaths } from '../support/family-fixtures.ts';
import { runCli } from '../support/run-cli.ts';
import { temporaryFolder } from '../support/temporary.ts';

const pathOf = (name: string) => familyPaths({ name, sizes: {} }).model;

test('embed prints the vectors of texts', async (t) => {
  const model = ['-m', pathOf('llama'), '-d', 'reference', '--pooling', 'last'];
  const { code, stdout, stderr } = await runCli(t, ['embed', ...model, '--json', '--raw', '#$', '%']);
  assert.equal(code, 0, stderr);
  const { embeddings } = JSON.parse(stdout) as { embeddings: { tokens: number; vector: number[] }[] };
  await using own = await loadModel(pathOf('llama'), { device: 'reference', pooling: 'last' });
  for (const [index, text] of ['#$', '%'].entries()) {
    const { vector, tokens } = await own.embed(text, { normalized: false });
    assert.deepEqual(embeddings[index], { tokens, vector: Array.from(vector) });
  }
  const cut = await runCli(t, ['embed', ...model, '--dimensions', '3', '#$']);
  assert.equal(cut.stdout.trim().split(' ').length, 3);
});

test('rerank prints the best document first', async (t) => {
  const lines = join(temporaryFolder(t), 'lines.txt');
  writeFileSync(lines, '%&\n\n&\n');
  const args = ['rerank', '-m', pathOf('bert-reranker'), '-d', 'reference', '--query', '#$'];
  const { code, stdout, stderr } = await runCli(t, [...args, '-f', lines, '--json', '$']);
  assert.equal(code, 0, stderr);
  const { results } = JSON.parse(stdout) as { results: { index: number; score: number }[] };
  assert.deepEqual(results.map(({ index }) => index).sort(), [0, 1, 2]);
  const [best] = results;
  const one = await runCli(t, [...args, '-f', lines, '--top', '1', '$']);
  assert.equal(
    one.stdout,
    `${best?.score.toFixed(4)}\t${best?.index}\t${['$', '%&', '&'][best?.index ?? 9]}\n`,
  );
  const none = await runCli(t, args);
  assert.equal(none.code, 2);
});
