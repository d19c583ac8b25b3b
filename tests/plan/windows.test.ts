import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openNullDevice } from '../../src/devices/null/index.ts';
import { Q4_0 } from '../../src/formats/index.ts';
import { GgufFile, GgufWriter } from '../../src/gguf/index.ts';
import { MemorySink, MemorySource } from '../../src/io/index.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { gemma3 } from '../../src/model/architectures/gemma3.ts';
import { syntheticPlan } from '../../src/model/synthetic/synthetic-plan.ts';
import { count } from '../../src/model/synthetic-family.ts';
import { ExecutionPlan } from '../../src/plan/execution-plan.ts';
import { planToFit } from '../../src/plan/plan-to-fit.ts';
import { describeModel, type PlanOptions } from '../../src/plan/parts/plan-options.ts';
import { deviceWith } from '../support/device-with.ts';

/** Gemma 3 4B, but for its vocabulary. */
const SHAPE = {
  architecture: 'gemma3',
  layers: 34,
  width: 2560,
  heads: 8,
  kvHeads: 4,
  hidden: 10_240,
  vocabulary: 64,
  context: 131_072,
  ropeBase: 1_000_000,
};
const HEAD_SIZE = 256;

/** A file of which there is the header alone. */
async function headerOf(): Promise<GgufFile> {
  const sizes = {
    'attention.sliding_window': count(1024),
    'attention.key_length': count(HEAD_SIZE),
    'attention.value_length': count(HEAD_SIZE),
    'rope.dimension_count': count(HEAD_SIZE),
  };
  const family = { ...gemma3.synthetic, metadata: () => sizes };
  const sink = new MemorySink();
  const plan = await syntheticPlan('gemma-3-4b', SHAPE, { family, format: Q4_0 });
  const { layout } = await GgufWriter.begin(sink, plan);
  const source = new MemorySource(sink.bytes(), 'gemma-3-4b.gguf');
  const isPretended = { size: { value: sink.bytes().length + layout.byteLength } };
  return GgufFile.open(Object.defineProperties(source, isPretended));
}

test('layers with a window take their window, however long the context is: Gemma 3 4B at 128 k', async () => {
  await using gguf = await headerOf();
  const device = openNullDevice();
  const cacheOf = async (context: number, sequences: number) => {
    const source = { gguf, device, architectures: ALL_ARCHITECTURES };
    await using plan = await ExecutionPlan.compile(describeModel(source, { context, sequences }).setup);
    return plan.fit().cache;
  };
  const whole = SHAPE.layers * 2 * 2 * SHAPE.kvHeads * HEAD_SIZE * SHAPE.context;
  const cache = await cacheOf(SHAPE.context, 1);
  assert.ok(whole / cache > 5, `${cache} bytes instead of ${whole}`);
  assert.ok((4 * whole) / (await cacheOf(SHAPE.context, 4)) > 5);
  // Within the window nothing is gained, and nothing lost.
  const short = await cacheOf(1024, 1);
  assert.ok(Math.abs(short - whole / 128) < 0.01 * short, `${short} bytes`);
});

test('a context shrinks to what fits, though windows do not', async () => {
  await using gguf = await headerOf();
  const source = { gguf, device: openNullDevice(), architectures: ALL_ARCHITECTURES };
  const { fit, plan } = await planToFit(source, {}, {});
  await plan[Symbol.asyncDispose]();
  const options = { context: SHAPE.context, shrinkContext: true };
  const limits = { memory: fit.total + 1e9 };
  const found = await planToFit(source, options, limits);
  assert.equal(found.fit.streamedParts, 0);
  assert.ok(found.fit.total <= limits.memory && found.fit.total > 0.97 * limits.memory, `${found.fit.total}`);
  await found.plan[Symbol.asyncDispose]();
});

test('the batch of a large GPU is the usual one where memory is short', async () => {
  await using gguf = await headerOf();
  const device = deviceWith(openNullDevice(), { promptRows: 2048 });
  const source = { gguf, device, architectures: ALL_ARCHITECTURES };
  const planned = async (options: PlanOptions, memory?: number) => {
    const { fit, plan } = await planToFit(source, options, { memory });
    await using _ = plan;
    return { rows: plan.shape.rows, total: fit.total, streamed: fit.streamedParts };
  };
  const whole = await planned({});
  assert.equal(whole.rows, 2048);
  const short = await planned({}, whole.total - 1);
  assert.deepEqual([short.rows, short.streamed], [512, 0]);
  const asked = await planned({ batch: 2048 }, whole.total - 1);
  assert.equal(asked.rows, 2048);
  assert.ok(asked.streamed > 0);
  // What does not fit in either is streamed with the usual one.
  const shortest = await planned({}, short.total - 1);
  assert.equal(shortest.rows, 512);
  assert.ok(shortest.streamed > 0);
});
