import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Device } from '../../src/device/index.ts';
import { DevicePipeline } from '../../src/devices/group/index.ts';
import { openReferenceDevice } from '../../src/devices/reference/index.ts';
import { LanguageModel, type ModelOptions } from '../../src/engine/language-model.ts';
import { Q8_0 } from '../../src/formats/index.ts';
import { GgufFile, GgufWriter } from '../../src/gguf/index.ts';
import { MemorySink, MemorySource } from '../../src/io/index.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { writeRandomWeights } from '../../src/model/synthetic/random-weights.ts';
import { syntheticShape } from '../../src/model/synthetic/shapes.ts';
import { syntheticPlan } from '../../src/model/synthetic/synthetic-plan.ts';
import { openCpu } from '../../src/node/open-cpu.ts';
import { openGguf } from '../../src/node/open-gguf.ts';
import { freeOf } from '../../src/plan/memory/fit-plan.ts';
import { limitedTotal } from '../../src/plan/memory/stage-fit.ts';
import { LOSS_CASES } from '../support/device-loss.ts';
import { checkFailedCreations } from '../support/failed-creations.ts';
import { familyPaths } from '../support/family-fixtures.ts';
import { HUNG_MS } from '../support/hung.ts';
import { predictedTexts, PREDICTOR_CASES } from '../support/predictor-goldens.ts';
import { cpuStages } from '../support/rank-devices.ts';
import { testStageLoss } from '../support/stage-loss.ts';
import { testStates } from '../support/state-tests.ts';
import { TINY, tinyModel } from '../support/tiny-model.ts';

const PROMPT = Array.from({ length: 20 }, (_, at) => 40 + ((at * 37) % 90));

async function openTiny(device: Device, options: ModelOptions = {}): Promise<LanguageModel> {
  const parts = { gguf: await tinyModel('Q4_0'), device, architectures: ALL_ARCHITECTURES };
  return LanguageModel.open(parts, { context: 64, batch: 16, logitRows: 16, ...options });
}

async function logitsOf(model: LanguageModel): Promise<number[]> {
  const found: number[] = [];
  for await (const { logits } of model.evaluate(PROMPT)) found.push(...logits);
  return found;
}

const layersOf = ({ fit }: LanguageModel) => fit.stages?.map(({ layers }) => layers);

test('the last layers are on the GPU, the output counting as one, and logits are those of one device', async () => {
  const { layers } = TINY;
  await using one = await openTiny(await openCpu({ threads: 1 }));
  const expected = await logitsOf(one);
  for (let gpuLayers = 1; gpuLayers <= layers; gpuLayers++) {
    await using model = await openTiny(await cpuStages(2), { gpuLayers });
    assert.deepEqual(layersOf(model), [layers + 1 - gpuLayers, gpuLayers - 1]);
    assert.deepEqual(await logitsOf(model), expected);
    const cards = await model.cards();
    assert.ok(cards.length === 2 && cards.every(({ free, total }) => free > 0 && free < total));
  }
});

test('a model that is whole on one stage runs on that device alone', async () => {
  for (const [gpuLayers, place] of [
    [0, 0],
    [TINY.layers + 1, 1],
    ['all', 1],
    ['auto', 1],
  ] as const) {
    const device = await cpuStages(2);
    await using model = await openTiny(device, { gpuLayers });
    assert.equal(layersOf(model), undefined);
    await model.loaded;
    assert.equal(device.stages[1 - place]?.liveObjects(), 0);
    assert.ok((device.stages[place]?.liveObjects() ?? 0) > 0);
    assert.equal((await logitsOf(model)).length, PROMPT.length * TINY.vocabulary);
  }
});

test('without a number, layers are dealt out by their bytes', async () => {
  await using model = await openTiny(await cpuStages(3));
  assert.deepEqual(layersOf(model), [1, 1, 1]);
  const gguf = await tinyModel('Q4_0', [], { hasHead: true });
  const parts = { gguf, device: await cpuStages(3), architectures: ALL_ARCHITECTURES };
  await using untied = await LanguageModel.open(parts, { context: 64 });
  assert.deepEqual(layersOf(untied), [1, 2, 0], 'the last stage has embedding and output');
  await using many = await cpuStages(5);
  await assert.rejects(openTiny(many), {
    code: 'INVALID_ARGUMENT',
    message: /pipelineParallel: found 5, expected at most 4 stages/,
  });
});

test('a large vocabulary leaves a layer for every stage but the last, which has it', async () => {
  const shape = { ...syntheticShape('tiny'), layers: 8, vocabulary: 8000 };
  const sink = new MemorySink();
  const writer = await GgufWriter.begin(sink, await syntheticPlan('wide', shape, { format: Q8_0 }));
  await writeRandomWeights(writer, { seed: 1 });
  const open = async (device: Device) => {
    const gguf = await GgufFile.open(new MemorySource(sink.bytes(), 'wide.gguf'));
    return LanguageModel.open({ gguf, device, architectures: ALL_ARCHITECTURES }, { context: 32 });
  };
  for (const stages of [2, 3, 4, 6, 9]) {
    await using model = await open(await cpuStages(stages));
    const layers = layersOf(model) ?? [];
    assert.equal(layers.length, stages);
    assert.ok(
      layers.slice(0, -1).every((count) => count >= 1),
      `${layers}`,
    );
  }
  await using many = await cpuStages(10);
  await assert.rejects(open(many), {
    message: /pipelineParallel: found 10, expected at most 9 stages for a model of 8/,
  });
});

test('auto puts as many layers on the GPU as fit, and leaves the context', async () => {
  const within = async (memoryLimit: number) =>
    new DevicePipeline([await openCpu({ threads: 1 }), await openCpu({ threads: 1, memoryLimit })]);
  await using whole = await openTiny(await cpuStages(2), { gpuLayers: 'all' });
  const { onDevice } = whole.fit;
  await using beside = await openTiny(await cpuStages(2), { gpuLayers: 2 });
  const [, gpu] = beside.fit.stages ?? [];
  assert.ok(gpu && gpu.onDevice < onDevice);
  const auto = { gpuLayers: 'auto', shrinkContext: true } as const;
  await using chosen = await openTiny(await within(gpu.onDevice), auto);
  assert.deepEqual(layersOf(chosen), [TINY.layers - 1, 1]);
  assert.equal(chosen.fit.context, 64);
  await using most = await openTiny(await within(onDevice), auto);
  assert.equal(layersOf(most), undefined);
  for (const [options, memory, message] of [
    [auto, 100_000, /^the model needs/],
    [{ gpuLayers: 3 }, gpu.onDevice, /^stage 1 of 2 layers on cpu needs/],
  ] as const) {
    await using device = await within(memory);
    await assert.rejects(openTiny(device, options), { code: 'MODEL_TOO_LARGE', message });
  }
});

test('each stage takes what was planned for it, pinned memory and one ring being the last one’s', async () => {
  const stages = await Promise.all([0, 1].map(() => openCpu({ threads: 1, memoryLimit: 2 ** 30 })));
  const device = new DevicePipeline(stages);
  const freeOfEach = async () => Promise.all(stages.map(async (stage) => (await stage.memory()).free));
  const before = await freeOfEach();
  await using model = await openTiny(device, { gpuLayers: 2, context: 1024 });
  await logitsOf(model);
  await model.loaded;
  const after = await freeOfEach();
  const [first = 0, last = 0] = before.map((bytes, stage) => bytes - (after[stage] ?? 0));
  const { stages: fits = [], loader, ring, total } = model.fit;
  const [planned = 0, plannedLast = 0] = fits.map(({ onDevice }) => onDevice);
  assert.ok(Math.abs(last - plannedLast) <= 0.02 * plannedLast, `${last} bytes, ${plannedLast} planned`);
  // Rows may be smaller than what they pass through.
  const least = planned - loader.streams * loader.slotBytes;
  assert.ok(least <= first && first <= planned, `${first} bytes, ${least} to ${planned} planned`);
  assert.deepEqual([fits[0]?.ring, fits[1]?.ring], [0, ring]);
  assert.equal(total, planned + plannedLast);
});

test('stages in the host’s memory share what is free there', async () => {
  await using one = await openCpu({ threads: 1, memoryLimit: 2 ** 30 });
  const limits = [2 ** 30, 2 ** 30, 2 ** 20];
  const open = async (memoryLimit: number) => openCpu({ threads: 1, memoryLimit });
  await using device = new DevicePipeline(await Promise.all(limits.map(open)));
  const { free } = await one.memory();
  const { stageFree } = await freeOf(device);
  assert.deepEqual(stageFree, [Math.floor(free / 3), Math.floor(free / 3), 2 ** 20]);
  assert.equal((await device.memory()).free, 2 * Math.floor(free / 3) + 2 ** 20);
});

test('a draft model takes memory of the last stage only', async () => {
  const open = async (device: Device, memory?: number) => {
    const parts = { gguf: await tinyModel('Q4_0'), device, architectures: ALL_ARCHITECTURES };
    const draft = { gguf: await tinyModel('Q8_0') };
    return LanguageModel.open({ ...parts, draft }, { context: 8192, batch: 16, gpuLayers: 1, memory });
  };
  await using model = await open(await cpuStages(2));
  const [first, last] = model.fit.stages ?? [];
  const { draft } = model.fit;
  assert.ok(first && last && draft > 0 && first.total > last.total);
  const memory = Math.max(first.total, last.total + draft);
  assert.equal(limitedTotal(model.fit), memory);
  await using fitting = await open(await cpuStages(2), memory);
  assert.equal(fitting.fit.total, model.fit.total);
  await using device = await cpuStages(2);
  await assert.rejects(open(device, memory - 1), { code: 'MODEL_TOO_LARGE' });
});

test('the context of a pipeline is reduced until its fullest stage fits', async () => {
  const sizes = { context: 4096, gpuLayers: 3, shrinkContext: true } as const;
  await using large = await openTiny(await cpuStages(2), sizes);
  const memory = Math.max(...(large.fit.stages ?? []).map(({ total }) => total)) - 200_000;
  await using small = await openTiny(await cpuStages(2), { ...sizes, memory });
  assert.ok(small.fit.context < 4096, `${small.fit.context} positions`);
  assert.ok(small.fit.stages?.every(({ total }) => total <= memory));
});

test('what a pipeline cannot do is refused by name', async () => {
  const refused = async (options: ModelOptions, message: RegExp) => {
    await using device = await cpuStages(2);
    await assert.rejects(openTiny(device, options), { code: 'INVALID_ARGUMENT', message });
    assert.equal(device.liveObjects(), 0);
  };
  for (const experts of ['host', 'stream'] as const) await refused({ experts }, /experts/);
  for (const gpuLayers of [-1, 1.5])
    await refused({ gpuLayers }, /gpuLayers: found .* expected a whole number/);
  await using alone = await openCpu({ threads: 1 });
  await assert.rejects(openTiny(alone, { gpuLayers: 2 }), {
    code: 'INVALID_ARGUMENT',
    message: /gpuLayers: found 2, expected a pipeline of the CPU and a GPU/,
  });
  await using gpu = openReferenceDevice();
  await assert.rejects(openTiny(gpu, { gpuLayers: 'auto' }), {
    code: 'INVALID_ARGUMENT',
    message: /gpuLayers: found auto, expected a pipeline of the CPU and a GPU/,
  });
  const { model } = familyPaths({ name: 'gemma4-e', sizes: {} });
  const parts = { gguf: await openGguf(model), device: await cpuStages(2), architectures: ALL_ARCHITECTURES };
  await assert.rejects(LanguageModel.open(parts, { gpuLayers: 2 }), {
    code: 'INVALID_ARGUMENT',
    message: /gpuLayers: found 2, expected one of [\d, ]+: later layers read the caches of earlier ones/,
  });
  await parts.gguf.dispose();
  await parts.device[Symbol.asyncDispose]();
});

test('every creation on a pipeline that fails leaves nothing behind', { timeout: HUNG_MS }, async () => {
  await using device = await cpuStages(2);
  await checkFailedCreations(device, { load: 'eager', step: 5 });
});

// `full/stage-loss` has the others, in which nothing depends on the device.
testStageLoss(LOSS_CASES.filter(({ anyBatch }) => !anyBatch));

/** A block that predicts, one with a recurrent state, and a drafter that reads the caches of layers of both stages. */
const PREDICTORS = ['glm4moe', 'qwen35', 'gemma4-assistant'];

for (const [name, of] of Object.entries(PREDICTOR_CASES)) {
  if (!PREDICTORS.includes(name)) continue;
  test(`drafts of a predictor on a pipeline leave the text alone: ${name}`, async () => {
    const open = () => cpuStages(2);
    const plain = await predictedTexts(of, { drafts: false, maxTokens: 12 });
    assert.deepEqual(await predictedTexts(of, { drafts: true, maxTokens: 12, open }), plain);
  });
}

test('a draft model beside a pipeline is on its last stage', async () => {
  await using plain = await openTiny(await cpuStages(2), { gpuLayers: 2 });
  const device = await cpuStages(2);
  const parts = { gguf: await tinyModel('Q4_0'), device, architectures: ALL_ARCHITECTURES };
  const draft = { gguf: await tinyModel('Q8_0') };
  await using model = await LanguageModel.open({ ...parts, draft }, { context: 64, batch: 16, gpuLayers: 2 });
  const options = { temperature: 0, maxTokens: 24, ignoreEnd: true };
  const stream = model.generate(PROMPT, options);
  assert.equal(await stream.text(), await plain.generate(PROMPT, options).text());
  assert.ok(stream.end.proposedTokens > 0);
});

// One for all, whose threads take as long to start as a text takes.
let stages: DevicePipeline;
before(async () => {
  stages = await cpuStages(2);
});
after(() => stages[Symbol.asyncDispose]());

testStates({
  name: '2 CPU stages',
  brevity: 0.4,
  models: /hybrid|Gemma 4/,
  declare: (claim, work) =>
    void test(claim, async () => {
      await work(stages);
      assert.equal(stages.liveObjects(), 0);
    }),
});
