import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRocmforgeError } from '../../src/base/errors.ts';
import { openReferenceDevice } from '../../src/devices/reference/index.ts';
import { LanguageModel, type ModelOptions } from '../../src/engine/language-model.ts';
import { GgufFile } from '../../src/gguf/index.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { openCpu } from '../../src/node/open-cpu.ts';
import { compareEmbeddingPlaces } from '../support/host-embedding.ts';
import { cpuStages } from '../support/rank-devices.ts';
import { tinyBytes, tinyModel } from '../support/tiny-model.ts';
import { WatchedSource } from '../support/watched-source.ts';

for (const [name, format, options] of [
  ['several at once, three steps under way', 'Q8_0', { sequences: 3, inFlight: 3 }],
  ['decoded to halves', 'Q4_0', { weights: 'f16' }],
  ['layers streamed', 'F32', { weightMemory: 200_000, sequences: 2 }],
] satisfies [string, string, ModelOptions][]) {
  test(`with the embedding on the host the CPU computes the same bits: ${name}, ${format}`, () =>
    compareEmbeddingPlaces(() => openCpu({ threads: 2 }), format, options));
}

test('so does the reference device', () =>
  compareEmbeddingPlaces(async () => openReferenceDevice(), 'Q5_0', { sequences: 2, speculation: 3 }));

test('so do two stages of CPUs', () => compareEmbeddingPlaces(() => cpuStages(2), 'Q8_0', { sequences: 2 }));

test('a head that reads the embedding keeps it on the device', async () => {
  await using device = openReferenceDevice();
  const parts = { gguf: await tinyModel(), device, architectures: ALL_ARCHITECTURES };
  const opened = LanguageModel.open(parts, { embedding: 'host' });
  await assert.rejects(opened, (error) => isRocmforgeError(error, 'EMBEDDING_TIED'));
  const embedding = 'Host' as 'host';
  await assert.rejects(LanguageModel.open(parts, { embedding }), { code: 'INVALID_ARGUMENT' });
  assert.equal(device.liveObjects(), 0);
});

test('a table that could not be read is read again by who needs it next', async () => {
  const source = new WatchedSource(await tinyBytes('Q8_0', [], { hasHead: true }));
  const device = openReferenceDevice();
  const parts = { gguf: await GgufFile.open(source), device, architectures: ALL_ARCHITECTURES };
  const model = await LanguageModel.open(parts, { embedding: 'host', load: 'lazy' });
  const say = () => model.generate([1, 2, 3], { maxTokens: 4, temperature: 0, ignoreEnd: true }).text();
  source.failFrom = source.reads + 1;
  await assert.rejects(say(), { code: 'READ_FAILED' });
  source.failFrom = undefined;
  assert.ok((await say()).length > 0);
  await model.dispose();
  assert.equal(device.liveObjects(), 0);
});
