import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { controlVectorsOf, joinRange } from '../../src/cli/control-vector-options.ts';
import { modelOptions } from '../../src/cli/options.ts';
import { loadModel, loadModelInWorker, type LoadModelOptions } from '../../src/index.ts';
import { Command } from 'commander';
import {
  controlBytes,
  CONTROL_CASES,
  type ControlCase,
  BUNDLED_CONTROL,
} from '../support/control-vectors.ts';
import { differenceTo, withControls } from '../support/control-vector-tests.ts';
import { runCli } from '../support/run-cli.ts';
import { temporaryFolder } from '../support/temporary.ts';

const LLAMA = CONTROL_CASES['llama'] as ControlCase;
const OPTIONS = { device: 'cpu', threads: 1, cacheType: 'f32', context: 64 } as const;

test('control vectors turn the bundled model as in llama.cpp', async () => {
  await withControls(BUNDLED_CONTROL, async (controlVectors) => {
    const differences: number[] = [];
    for (const options of [{}, { controlVectors, controlVectorLayers: BUNDLED_CONTROL.layers }]) {
      await using model = await loadModel(BUNDLED_CONTROL.model, { ...OPTIONS, ...options });
      differences.push(await differenceTo('bundled', model, BUNDLED_CONTROL));
    }
    const [without = 0, within = 1] = differences;
    // Without control vectors it is 0.26, because the two round activations differently.
    assert.ok(within < 0.6 && without > 3, `${within}, and ${without} without`);
  });
});

test('control vectors are part of the model: its texts, its states, its memory', async () => {
  await withControls(LLAMA, async (controlVectors) => {
    await using plain = await loadModel(LLAMA.model, OPTIONS);
    await using turned = await loadModel(LLAMA.model, { ...OPTIONS, controlVectors });
    await using remote = await loadModelInWorker(LLAMA.model, { ...OPTIONS, controlVectors });
    const how = { maxTokens: 12, temperature: 0, ignoreEnd: true } as const;
    const texts = await Promise.all(
      [plain, turned, remote].map((model) => model.generate([7, 25], how).text()),
    );
    assert.notEqual(texts[0], texts[1]);
    assert.equal(texts[1], texts[2]);
    assert.notEqual((await plain.stateShape(2)).fingerprint, (await turned.stateShape(2)).fingerprint);
    assert.equal((await remote.stateShape(2)).fingerprint, (await turned.stateShape(2)).fingerprint);
    assert.ok(turned.fit.weights >= plain.fit.weights + 4 * LLAMA.width);
  });
});

test('control vectors that are none, or do not fit, are refused', async (t) => {
  const folder = temporaryFolder(t);
  const file = join(folder, 'v.gguf');
  const width = new Float32Array(LLAMA.width).fill(1);
  const opened = async (options: LoadModelOptions) => {
    await using _ = await loadModel(LLAMA.model, { ...OPTIONS, controlVectors: [file], ...options });
  };
  const refused = async (
    of: Readonly<Record<string, Float32Array>>,
    message: RegExp,
    architecture?: string,
  ) => {
    writeFileSync(file, await controlBytes(new Map(Object.entries(of)), architecture));
    await assert.rejects(opened({}), { code: 'CONTROL_VECTOR_INVALID', message });
  };
  await refused({ 'direction.1': width }, /general.architecture llama/, 'llama');
  await refused({}, /no direction/);
  await refused({ 'direction.0': width }, /direction.0/);
  await refused({ 'direction.one': width }, /direction.one/);
  await refused({ 'direction.1': width, other: width }, /other/);
  await refused({ 'direction.2': width }, /layer 2, expected at most 1/);
  await refused({ 'direction.1': width.subarray(1).slice() }, /31 values, expected 32/);
  await refused({ 'direction.1': Float32Array.from(width, () => Number.NaN) }, /not finite/);
  await refused(
    { 'direction.1': width, 'direction.2': width.slice(1) },
    /31 values, expected 32, as the others/,
  );
  writeFileSync(file, 'nothing');
  await assert.rejects(opened({}), { code: /^GGUF_/ });
  await assert.rejects(opened({ controlVectors: [join(folder, 'none.gguf')] }), {
    code: 'SOURCE_UNAVAILABLE',
  });
  writeFileSync(file, await controlBytes(new Map([['direction.1', width]])));
  await opened({});
  await assert.rejects(opened({ controlVectorLayers: [2, 3] }), { code: 'CONTROL_VECTOR_INVALID' });
  const wrong = [
    { controlVectorLayers: [3, 2] },
    { controlVectorLayers: [1] },
    { controlVectorLayers: 1 },
    { controlVectors: [{ location: file, scale: Infinity }] },
    { controlVectors: file },
    { controlVectors: [1] },
    { controlVectors: [], controlVectorLayers: [1, 2] },
  ];
  for (const options of wrong)
    await assert.rejects(opened(options as unknown as LoadModelOptions), { code: 'INVALID_ARGUMENT' });
  const unknown = { controlVectors: [{ location: file, weight: 1 }] };
  await assert.rejects(opened(unknown as unknown as LoadModelOptions), { code: 'OPTION_UNKNOWN' });
});

test('the command line takes control vectors as llama.cpp does', async (t) => {
  const flagsOf = (...words: readonly string[]) => {
    const command = new Command().exitOverride().configureOutput({ writeErr: () => {} });
    for (const option of modelOptions()) command.addOption(option);
    return controlVectorsOf(command.parse(joinRange(words), { from: 'user' }).opts());
  };
  assert.deepEqual(flagsOf(), {});
  const words = ['--control-vector', 'a.gguf,b.gguf', '--control-vector-scaled', 'C:\\c.gguf:-0.5'];
  assert.deepEqual(flagsOf(...words, '--control-vector-layer-range', '10', '31'), {
    controlVectors: [
      { location: 'a.gguf', scale: 1 },
      { location: 'b.gguf', scale: 1 },
      { location: 'C:\\c.gguf', scale: -0.5 },
    ],
    controlVectorLayers: [10, 31],
  });
  for (const bad of ['c.gguf', 'c.gguf:much', 'c.gguf:'])
    assert.throws(() => flagsOf('--control-vector-scaled', bad), /Expected a file, a colon and a number/);
  assert.throws(() => flagsOf('--control-vector-layer-range', '3', '2'), /the first and the last layer/);
  await withControls(LLAMA, async ([control]) => {
    const ask = ['run', '-d', 'reference', '-m', LLAMA.model, '--raw', '-p', 'a b c', '-n', '6', '--greedy'];
    const plain = await runCli(t, ask);
    const scaled = ['--control-vector-scaled', `${control?.location}:2`];
    const turned = await runCli(t, [...ask, ...scaled, '--control-vector-layer-range', '1', '1']);
    assert.deepEqual([plain.code, turned.code], [0, 0]);
    assert.notEqual(plain.stdout, turned.stdout);
    const none = await runCli(t, [...ask, '--control-vector-layer-range', '1', '1']);
    assert.equal(none.code, 2);
    assert.match(none.stderr, /--control-vector-layer-range: found no --control-vector/);
  });
});
