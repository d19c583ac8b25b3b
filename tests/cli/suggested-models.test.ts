import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SUGGESTED_MODELS } from '../../src/cli/suggested-models.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { parseModelName } from '../../src/node/hub/model-name.ts';
import { runCli } from '../support/run-cli.ts';

test('every suggested model has a name that can be pulled and an architecture that runs', () => {
  const known = new Set(ALL_ARCHITECTURES.flatMap(({ names }) => names));
  for (const { repo, architecture, bytes, license, goodFor } of SUGGESTED_MODELS) {
    assert.deepEqual(parseModelName(repo, 'https://huggingface.co'), { kind: 'hub', repo, revision: 'main' });
    assert.ok(known.has(architecture), `${repo}: ${architecture}`);
    assert.ok(bytes > 0 && license !== '' && goodFor !== '', repo);
  }
  const sizes = SUGGESTED_MODELS.map(({ bytes }) => bytes);
  assert.deepEqual(
    sizes,
    sizes.toSorted((a, b) => a - b),
    'the smallest first',
  );
  assert.equal(new Set(SUGGESTED_MODELS.map(({ repo }) => repo)).size, SUGGESTED_MODELS.length);
});

test('models shows them with what fits', async (t) => {
  const { code, stdout, stderr } = await runCli(t, ['models', '-d', 'cpu', '--json']);
  assert.equal(code, 0, stderr);
  const { models, free, device } = JSON.parse(stdout) as {
    models: { model: string; bytes: number; fits: boolean }[];
    free: number;
    device: string;
  };
  assert.equal(device, 'cpu');
  assert.equal(models.length, SUGGESTED_MODELS.length);
  for (const { bytes, fits } of models) assert.ok(fits ? bytes < free : bytes * 1.1 + (512 << 20) > free);
  const text = await runCli(t, ['models', '-d', 'cpu']);
  assert.match(text.stdout, /^model +billions +size +licence +on cpu/);
});
