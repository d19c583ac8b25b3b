import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { cachedModels, readHubSettings, removeModels } from '../../../src/node/hub/index.ts';
import { loadModel } from '../../../src/node/load-model.ts';
import { loadModelInWorker } from '../../../src/node/load-model-in-worker.ts';
import { startHub } from '../../support/hub/hub-server.ts';
import { hubEnvironment, pullWith } from '../../support/hub/pulling.ts';
import { tinyBytes } from '../../support/tiny-model.ts';

const CONFIG = JSON.stringify({
  temperature: 0.7,
  top_k: 20,
  top_p: 0.8,
  eos_token_id: [1, 2],
  repetition_penalty: -1,
});

/** A hub with a model whose repository recommends a sampling; the metadata of one of its files has a temperature. */
async function start(t: TestContext, config = CONFIG): Promise<Record<string, string>> {
  const files = {
    'tiny-Q8_0.gguf': await tinyBytes('Q8_0'),
    'tiny-Q4_0.gguf': await tinyBytes('Q4_0', [['general.sampling.temp', { type: 'f32', value: 0.25 }]]),
    'generation_config.json': new TextEncoder().encode(config),
  };
  return hubEnvironment(t, await startHub(t, { 'user/tiny': files }));
}

test('the sampling that a repository recommends is its models’, but for what a file says itself', async (t) => {
  Object.assign(process.env, await start(t));
  const options = { device: 'reference' };
  await using named = await loadModel('hf:user/tiny:Q8_0', options);
  assert.deepEqual(named.recommendedSampling, { temperature: 0.7, topK: 20, topP: 0.8 });
  await using byPath = await loadModel(named.gguf.parts[0]?.source.name, options);
  assert.deepEqual(byPath.recommendedSampling, named.recommendedSampling);
  await using other = await loadModelInWorker('hf:user/tiny:Q4_0', options);
  assert.deepEqual(other.recommendedSampling, { temperature: 0.25, topK: 20, topP: 0.8 });
});

test('what is no generation config recommends nothing', async (t) => {
  for (const config of ['{ temperature', 'null', '[0.5]', '{"temperature":"hot"}']) {
    Object.assign(process.env, await start(t, config));
    await using model = await loadModel('hf:user/tiny:Q8_0', { device: 'reference' });
    assert.deepEqual(model.recommendedSampling, {}, config);
  }
});

test('a generation config goes with the last model of its repository, unless others keep files there', async (t) => {
  const environment = await start(t);
  const settings = await readHubSettings(environment);
  const { path } = await pullWith(environment, 'hf:user/tiny:Q8_0');
  await pullWith(environment, 'hf:user/tiny:Q4_0');
  const config = join(path, '..', 'generation_config.json');
  assert.equal(readFileSync(config, 'utf8'), CONFIG);
  const remove = async (quantization: string) => {
    const models = await cachedModels(settings);
    await removeModels(models.filter(({ files }) => files[0]?.includes(quantization)));
  };
  await remove('Q8_0');
  assert.ok(existsSync(config));
  await remove('Q4_0');
  assert.ok(!existsSync(join(path, '../../..')), 'the whole folder is gone');
  await pullWith(environment, 'hf:user/tiny:Q8_0');
  writeFileSync(join(path, '..', 'config.json'), '{}');
  await remove('Q8_0');
  assert.ok(existsSync(config));
});
