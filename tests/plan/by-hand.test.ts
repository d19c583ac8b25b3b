import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRocmforgeError } from '../../src/base/errors.ts';
import type { Device } from '../../src/device/index.ts';
import { openReferenceDevice } from '../../src/devices/reference/index.ts';
import { GgufFile } from '../../src/gguf/index.ts';
import { MemorySource } from '../../src/io/index.ts';
import { AsyncModelLoader } from '../../src/load/async-model-loader.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { ExecutionPlan } from '../../src/plan/execution-plan.ts';
import { cpuStages } from '../support/rank-devices.ts';
import { TINY, tinyBytes } from '../support/tiny-model.ts';

const IDS: readonly number[] = [1, 40, 41, 42, 43];

/** What is done with a plan of the tiny model on the reference device. */
async function withPlan(work: (plan: ExecutionPlan, device: Device) => Promise<void>): Promise<void> {
  await using gguf = await GgufFile.open(new MemorySource(await tinyBytes(), 'tiny.gguf'));
  await using device = openReferenceDevice();
  await using loader = new AsyncModelLoader(device);
  const source = { gguf, device, architectures: ALL_ARCHITECTURES };
  await using plan = await ExecutionPlan.fromGguf(source, loader, { context: 16, batch: 8 });
  await work(plan, device);
}

/** The logits behind rows that begin at `first`. */
async function logitsOf(plan: ExecutionPlan, device: Device, ids: readonly number[], first = 0) {
  await using stream = device.createStream('by hand');
  const batch = await plan.forwardEmbedding(stream, ids, first);
  for (let layer = 0; layer < plan.layerCount; layer++) await plan.forwardLayer(stream, batch, layer);
  const logits = new Float32Array(plan.vocabulary);
  await stream.download(await plan.forwardHead(stream, batch), new Uint8Array(logits.buffer));
  return logits;
}

test('rows that are computed by hand in parts, and for another sequence again, give what they give at once', () =>
  withPlan(async (plan, device) => {
    const whole = await logitsOf(plan, device, IDS);
    assert.ok(whole.some((logit) => logit !== 0));
    await logitsOf(plan, device, IDS.slice(0, 3));
    assert.deepEqual(await logitsOf(plan, device, IDS.slice(3), 3), whole);
    assert.notDeepEqual(await logitsOf(plan, device, IDS.slice(3)), whole);
  }));

test('rows and layers that there are not are refused, and nothing is computed', () =>
  withPlan(async (plan, device) => {
    await using stream = device.createStream('by hand');
    const refused = (error: unknown) => isRocmforgeError(error, 'INVALID_ARGUMENT');
    const many = new Array<number>(9).fill(1);
    for (const ids of [[], many, [-1], [0.5], [plan.tokenIds]]) {
      await assert.rejects(plan.forwardEmbedding(stream, ids), refused, String(ids));
    }
    await assert.rejects(plan.forwardEmbedding(stream, [1], 1), refused);
    const batch = await plan.forwardEmbedding(stream, many.slice(1));
    await plan.forwardEmbedding(stream, many.slice(1), 8);
    await assert.rejects(plan.forwardEmbedding(stream, [1], 16), refused);
    await assert.rejects(plan.forwardLayer(stream, batch, plan.layerCount), refused);
    await assert.rejects(plan.forwardLayer(stream, batch, -1), refused);
    assert.equal(plan.isLayerLoaded(0), false);
  }));

test('a model that is whole on a stage of a pipeline is planned on that stage, with a loader of its own', async () => {
  await using gguf = await GgufFile.open(new MemorySource(await tinyBytes(), 'tiny.gguf'));
  await using device = await cpuStages(2);
  const source = { gguf, device, architectures: ALL_ARCHITECTURES };
  const options = { context: 16, batch: 8 };
  const places = [
    [0, 0],
    ['all', 1],
    ['auto', 1],
    [TINY.layers + 1, 1],
  ] as const;
  for (const [gpuLayers, stage] of places) {
    const own = device.stages[stage] as Device;
    await using loader = new AsyncModelLoader(own);
    await using plan = await ExecutionPlan.fromGguf(source, loader, { ...options, gpuLayers });
    assert.equal((await logitsOf(plan, own, IDS)).length, TINY.vocabulary);
    await using other = new AsyncModelLoader(device);
    await assert.rejects(ExecutionPlan.fromGguf(source, other, { ...options, gpuLayers }), {
      code: 'INVALID_ARGUMENT',
      message: /loader: found one of /,
    });
  }
  await using loader = new AsyncModelLoader(device);
  await using plan = await ExecutionPlan.fromGguf(source, loader, { ...options, gpuLayers: 2 });
  assert.equal((await logitsOf(plan, device, IDS)).length, TINY.vocabulary);
});
