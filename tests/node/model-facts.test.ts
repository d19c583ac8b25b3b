import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LanguageModel } from '../../src/engine/language-model.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { openDevice } from '../../src/node/devices.ts';
import { modelMemory } from '../../src/node/model-facts.ts';
import { openGguf } from '../../src/node/open-gguf.ts';
import { tinyModelFile } from '../support/run-cli.ts';

test('what a model takes of a memory limit is planned on the devices that it will be split over', async (t) => {
  const path = await tinyModelFile(t);
  const { signal } = new AbortController();
  const found = new Set<number>();
  for (const split of [
    {},
    { tensorParallel: 2 },
    { pipelineParallel: 2 },
    { tensorParallel: 2, pipelineParallel: 2 },
  ]) {
    const request = { device: 'reference', ...split };
    await using gguf = await openGguf(path);
    await using device = await openDevice(request);
    const parts = { gguf, device, architectures: ALL_ARCHITECTURES };
    const { total, stages } = await LanguageModel.fit(parts, { context: 1024 }, { alone: true });
    const expected = stages ? Math.max(...stages.map((stage) => stage.total)) : total;
    assert.equal(
      await modelMemory(path, { ...request, context: 1024 }, signal),
      expected,
      JSON.stringify(split),
    );
    found.add(expected);
  }
  assert.equal(found.size, 4);
});
