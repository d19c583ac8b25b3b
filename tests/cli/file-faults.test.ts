import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { runCli } from '../support/run-cli.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { tinyBytes, withNaN } from '../support/tiny-model.ts';

test('a model that computes no numbers ends with 1 and the layer, whatever is asked of it', async (t) => {
  const path = join(temporaryFolder(t), 'broken.gguf');
  writeFileSync(path, await withNaN(await tinyBytes(), 'blk.1.ffn_norm.weight', 3));
  const text = join(temporaryFolder(t), 'text.txt');
  writeFileSync(text, 'hi '.repeat(60));
  for (const args of [
    ['run', '-p', 'hi', '-n', '4'],
    ['perplexity', '-f', text, '-c', '16'],
  ]) {
    const { code, stdout, stderr } = await runCli(t, [...args, '-m', path, '-d', 'reference']);
    assert.equal(code, 1);
    assert.match(stderr, /not finite.*layer 1/);
    assert.doesNotMatch(stdout, /NaN/);
  }
});

test('a file that holds more than is computed is refused, told of by inspect, and run where that is allowed', async (t) => {
  const path = join(temporaryFolder(t), 'more.gguf');
  const extra = { 'blk.0.attn_sinks.weight': [4], 'blk.1.attn_sinks.weight': [4] };
  writeFileSync(
    path,
    await tinyBytes('F32', [['llama.logit_scale', { type: 'f32', value: 0.5 }]], { extra }),
  );
  const run = ['run', '-p', 'hi', '-n', '2', '-m', path, '-d', 'reference'];
  const refused = await runCli(t, run);
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /blk\.\*\.attn_sinks\.weight \(2\)[^]*--allow-unread/);
  const allowed = await runCli(t, [...run, '--allow-unread']);
  assert.equal(allowed.code, 0, allowed.stderr);
  assert.match(allowed.stderr, /attn_sinks/);
  const { code, stdout } = await runCli(t, ['inspect', path, '--summary', '-d', 'reference']);
  assert.equal(code, 0);
  assert.match(stdout, /^error +tensor blk\.\*\.attn_sinks\.weight \(2\)/m);
  assert.match(stdout, /^warning +key llama\.logit_scale/m);
  const json = JSON.parse((await runCli(t, ['inspect', path, '--json', '-d', 'reference'])).stdout);
  assert.equal(json.unread.length, 2);
});
