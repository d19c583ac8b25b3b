import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { planSplits } from '../../src/gguf/index.ts';
import { copyModel } from '../../src/node/copy-model.ts';
import { openGguf } from '../../src/node/open-gguf.ts';
import { BUNDLED, runCli } from '../support/run-cli.ts';
import { temporaryFolder } from '../support/temporary.ts';

/** SHA-256 of what llama-gguf-split writes: `--split-max-size 7M`, the same with `--no-tensor-first-split`, and `--merge`. */
const GOLDENS = {
  bySize: [
    '66e0f849a8faa027d0cd129f773d6feeb48614606bf170d4a57785e4207c461b',
    'abdb4b4fd9471e3ad04c050890653d5956ac09a327bf0f03e2e434a9d402005b',
    '7cb29e058118ae4bba870c40653e283fe81442eada1f697a656660d79f6a75dd',
  ],
  metadataFirst: [
    'b27adcc059dc9de8e2593c159b3d0f48243d24a0759f6699cba1b1aed4b2f1e6',
    'afbabfcf915d62088175bc3911a56c22d4e14cc163c237d2a0de894b020c511a',
    '805087459a13d0c84618a5fc0e4d16a9db421a64d598b25132f20efeeb1329fd',
    'c4f015f57973530956a4022200764b971489d6a82001ccf48ca89008418155c0',
  ],
  joined: '4e24fa78a3b9c4ca1aa2a0976063e65ba25b917f59b5bfa19a0dda1112e290f8',
};

function hashes(folder: string, base: string): string[] {
  const names = readdirSync(folder).filter((name) => name.startsWith(`${base}-0`));
  return names.toSorted().map((name) => hashOf(join(folder, name)));
}

function hashOf(path: string): string {
  return createHash('sha256').update(readFileSync(path)).digest('hex');
}

test('split and join write the files that llama-gguf-split writes', async (t) => {
  const folder = temporaryFolder(t);
  const split = ['split', BUNDLED, '--max-size', '7MB', '-o'];
  const done = await runCli(t, [...split, join(folder, 'size'), '--json']);
  assert.equal(done.code, 0, done.stderr);
  const report = JSON.parse(done.stdout) as { files: { path: string; tensors: number }[] };
  assert.deepEqual(
    report.files.map(({ path }) => path),
    [1, 2, 3].map((part) => join(folder, `size-0000${part}-of-00003.gguf`)),
  );
  assert.deepEqual(hashes(folder, 'size'), GOLDENS.bySize);
  const first = await runCli(t, [...split, join(folder, 'first'), '--metadata-first']);
  assert.equal(first.code, 0, first.stderr);
  assert.deepEqual(hashes(folder, 'first'), GOLDENS.metadataFirst);
  const joined = join(folder, 'joined.gguf');
  const together = await runCli(t, ['join', join(folder, 'size-00002-of-00003.gguf'), '-o', joined]);
  assert.equal(together.code, 0, together.stderr);
  assert.equal(hashOf(joined), GOLDENS.joined);
  const again = await runCli(t, ['join', join(folder, 'size-00001-of-00003.gguf'), '-o', joined]);
  assert.match(again.stderr, /which exists/);
  const whole = await runCli(t, ['join', joined]);
  assert.match(whole.stderr, /a whole model/);
});

test('a copy that is stopped leaves none of its files', async (t) => {
  const folder = temporaryFolder(t);
  await using gguf = await openGguf(BUNDLED);
  const parts = planSplits({ metadata: [], tensors: gguf.tensors }, join(folder, 'x'), { maxTensors: 20 });
  const files = parts.map(({ name, plan }) => ({ path: name, plan }));
  const stop = new AbortController();
  let most = 0;
  const onProgress = (done: number, total: number) => {
    most = Math.max(most, readdirSync(folder).length);
    if (done > total / 2) stop.abort();
  };
  await assert.rejects(copyModel(gguf, files, { signal: stop.signal, onProgress }), { code: 'ABORTED' });
  assert.ok(most > 1, 'whole parts were there');
  assert.deepEqual(readdirSync(folder), []);
});
