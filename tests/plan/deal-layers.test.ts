import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Device } from '../../src/device/index.ts';
import { DeviceGroup, DevicePipeline } from '../../src/devices/group/index.ts';
import { openNullDevice } from '../../src/devices/null/index.ts';
import { openReferenceDevice } from '../../src/devices/reference/index.ts';
import { LanguageModel, type ModelOptions } from '../../src/engine/language-model.ts';
import type { GgufFile } from '../../src/gguf/index.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { openCpu } from '../../src/node/open-cpu.ts';
import { dealLayers } from '../../src/plan/deal-layers.ts';
import type { StageFit } from '../../src/plan/memory/fit-plan.ts';
import { planToFit } from '../../src/plan/plan-to-fit.ts';
import { SPLIT_ALL } from '../support/rank-devices.ts';
import { servedPair } from '../support/remote-pair.ts';
import { TINY, tinyModel, tinyPlan } from '../support/tiny-model.ts';

const LAYERS = 12;
const NO_LIMIT = Number.POSITIVE_INFINITY;
const PROMPT = Array.from({ length: 8 }, (_, at) => 40 + at * 7);

/** A tiny Llama with more layers than others have. */
async function deepModel(): Promise<GgufFile> {
  const own = tinyPlan('F32').tensors.filter(({ name }) => name.startsWith('blk.0.'));
  const extra = Array.from({ length: LAYERS - TINY.layers }, (_, index) =>
    own.map(({ name, shape }) => [name.replace('blk.0.', `blk.${TINY.layers + index}.`), shape] as const),
  );
  const count = ['llama.block_count', { type: 'u32', value: LAYERS }] as const;
  return tinyModel('F32', [count], { extra: Object.fromEntries(extra.flat()) });
}

async function open(device: Device, options: ModelOptions = {}): Promise<LanguageModel> {
  const parts = { gguf: await deepModel(), device, architectures: ALL_ARCHITECTURES };
  return LanguageModel.open(parts, { context: 64, batch: 16, logitRows: 8, ...options });
}

/** Memory of which stages find enough, even if it is that of all of them. */
const PLENTY = 2 ** 30;

/** What a stage with so many layers less would need, about. */
function withoutLayers({ onDevice, weights, cache, layers }: StageFit, count: number): number {
  return Math.floor(onDevice - (count * (weights + cache)) / layers);
}

/** Stages that are reference devices with so much memory. */
function referenceStages(memory: readonly number[]): DevicePipeline {
  return new DevicePipeline(memory.map((memoryBytes) => openReferenceDevice({ memoryBytes })));
}

async function logitsOf(model: LanguageModel): Promise<number[]> {
  const found: number[] = [];
  for await (const { logits } of model.evaluate(PROMPT)) found.push(...logits);
  return found;
}

const layersOf = ({ fit }: LanguageModel) => fit.stages?.map(({ layers }) => layers) ?? [];

/** Stages for layers of one byte each. */
function startsFor(rooms: readonly number[], { layers = LAYERS, others = 0, legal = [] as number[] } = {}) {
  const bytes = Array.from({ length: layers }, () => 1);
  const everywhere = Array.from({ length: layers + 1 }, (_, start) => start);
  return dealLayers({
    ...{ bytes, others, rooms },
    legal: legal.length > 0 ? legal : everywhere,
    taken: rooms.map(() => bytes),
  });
}

test('layers are even, but where a stage has too little room', () => {
  assert.deepEqual(startsFor([NO_LIMIT, NO_LIMIT, NO_LIMIT]), [0, 4, 8]);
  assert.deepEqual(startsFor([2, NO_LIMIT, NO_LIMIT]), [0, 2, 7]);
  assert.deepEqual(startsFor([NO_LIMIT, 1, NO_LIMIT], { others: 1 }), [0, 6, 7]);
  assert.deepEqual(startsFor([NO_LIMIT, NO_LIMIT, 0]), [0, 6, 12]);
  assert.deepEqual(startsFor([5, 3, 4]), [0, 5, 8]);
  assert.deepEqual(startsFor([NO_LIMIT, NO_LIMIT], { others: 4 }), [0, 8]);
  assert.deepEqual(startsFor([5, NO_LIMIT], { legal: [0, 4, 6, 12] }), [0, 4]);
});

test('without room for all, stages exceed theirs by the same factor; each but the last has a layer', () => {
  assert.deepEqual(startsFor([2, 4]), [0, 4]);
  assert.deepEqual(startsFor([-1, NO_LIMIT]), [0, 6], 'nothing helps');
  assert.deepEqual(startsFor([NO_LIMIT, NO_LIMIT, NO_LIMIT], { layers: 2 }), [0, 1, 2]);
  assert.equal(startsFor([NO_LIMIT, NO_LIMIT, NO_LIMIT], { layers: 1 }), undefined);
});

test('a stage with little memory has the layers that fit there, and the logits are those of one device', async () => {
  await using one = await open(openReferenceDevice());
  const expected = await logitsOf(one);
  await using even = await open(referenceStages([PLENTY, PLENTY, PLENTY]));
  const stages = even.fit.stages ?? [];
  const [first] = stages;
  assert.ok(first);
  for (const [small, stage] of stages.entries()) {
    const { onDevice, layers: count } = stage;
    // The last one has the embedding, too.
    const less = withoutLayers({ ...first, onDevice }, 1.5);
    const memory = stages.map((_, at) => (at === small ? less : PLENTY));
    await using model = await open(referenceStages(memory));
    const found = layersOf(model);
    assert.ok((found[small] ?? 0) < count && (found[small] ?? 0) >= count - 2, `${found.join()}: ${small}`);
    assert.equal(
      found.reduce((sum, layers) => sum + layers, 0),
      LAYERS,
    );
    assert.ok(model.fit.stages?.every(({ onDevice }, stage) => onDevice <= (memory[stage] ?? 0)));
    assert.equal(model.fit.context, 64);
    assert.deepEqual(await logitsOf(model), expected);
  }
  await using tight = await open(referenceStages([first.onDevice, PLENTY, PLENTY]));
  assert.deepEqual(layersOf(tight), layersOf(even), 'what fits evenly stays even');
});

test('layers move before the context is reduced, which then is where they are', async () => {
  const large = { context: 4096, cachePositions: 4096 };
  await using even = await open(referenceStages([PLENTY, PLENTY]), large);
  const [first, last] = even.fit.stages ?? [];
  assert.ok(first && last);
  const little = Math.floor(first.onDevice / 3);
  const shrinking = { ...large, shrinkContext: true };
  await using whole = await open(referenceStages([little, PLENTY]), shrinking);
  assert.equal(whole.fit.context, 4096);
  assert.ok((layersOf(whole)[0] ?? 0) < first.layers);
  // Stages of one host share its memory.
  const needed = whole.fit.stages?.at(-1)?.onDevice ?? 0;
  await using small = await open(referenceStages([little, 2 * Math.floor(needed * 0.8)]), shrinking);
  const { context } = small.fit;
  assert.ok(context < 4096 && context >= 2048, `${context} positions`);
});

test('a limit of bytes holds for each stage, and what does not fit together is refused with the sums', async () => {
  await using even = await open(referenceStages([PLENTY, PLENTY]));
  const [first, last] = even.fit.stages ?? [];
  assert.ok(first && last);
  const less = withoutLayers({ ...first, onDevice: last.total }, 1.5);
  await using limited = await open(referenceStages([PLENTY, PLENTY]), { memory: less });
  assert.ok((layersOf(limited)[0] ?? 0) > first.layers);
  assert.ok(limited.fit.stages?.every(({ total }) => total <= less));
  const memory = Math.floor(0.45 * (first.total + last.total));
  await using device = referenceStages([PLENTY, PLENTY]);
  await assert.rejects(
    open(device, { memory }),
    (error: Error & { code: string; params: Record<string, string> }) => {
      assert.equal(error.code, 'MODEL_TOO_LARGE');
      const [needed = 0, free = 0] = ['needed', 'free'].map((name) =>
        Number.parseFloat(error.params[name] ?? ''),
      );
      assert.ok(Math.abs(free - (2 * memory) / 2 ** 20) < 0.02, error.message);
      assert.ok(Math.abs(free / needed - 0.9) < 0.02, error.message);
      return true;
    },
  );
  assert.equal(device.liveObjects(), 0);
});

test('groups of devices and the CPU have what fits, too', async () => {
  const group = (memoryBytes: number) =>
    new DeviceGroup(
      [0, 1].map(() => openNullDevice({ memoryBytes })),
      SPLIT_ALL,
    );
  const pipeline = (memory: readonly number[]) => new DevicePipeline(memory.map(group));
  await using even = await open(pipeline([PLENTY, PLENTY]));
  const [first] = even.fit.stages ?? [];
  assert.ok(first && first.ranks === 2);
  await using model = await open(pipeline([withoutLayers(first, 2.5), PLENTY]));
  assert.ok((layersOf(model)[0] ?? 0) < first.layers && (layersOf(model)[0] ?? 0) > 0);
  const cpus = async (memoryLimit: number) =>
    new DevicePipeline([await openCpu({ threads: 1, memoryLimit }), await openCpu({ threads: 1 })]);
  await using onCpus = await open(await cpus(PLENTY));
  const [own] = onCpus.fit.stages ?? [];
  assert.ok(own);
  await using beside = await open(await cpus(withoutLayers(own, 2.5)));
  assert.ok((layersOf(beside)[0] ?? 0) < own.layers);
  assert.deepEqual(await logitsOf(beside), await logitsOf(onCpus));
});

test('a worker has what fits into the memory that it tells, and its weights and texts are right', async () => {
  const own = () => openCpu({ threads: 1 });
  await using even = await open(new DevicePipeline([await own(), await own()]));
  const [first] = even.fit.stages ?? [];
  assert.ok(first);
  const { remote } = await servedPair(await openCpu({ threads: 1, memoryLimit: withoutLayers(first, 2.5) }));
  await using model = await open(new DevicePipeline([remote, await own()]));
  const [layers = 0] = layersOf(model);
  assert.ok(layers > 0 && layers < first.layers);
  assert.deepEqual(await logitsOf(model), await logitsOf(even));
});

test('layers that were dealt out are dealt out again if their device comes back with less memory', async () => {
  await using device = referenceStages([PLENTY, PLENTY]);
  const source = { gguf: await deepModel(), device, architectures: ALL_ARCHITECTURES };
  const dealt = { context: 64, batch: 16, starts: [0, LAYERS - 1] };
  const plan = async (stageFree: readonly number[]) => planToFit(source, dealt, { stageFree });
  const { fit, options } = await plan([PLENTY, PLENTY]);
  const [first] = fit.stages ?? [];
  assert.ok(first);
  assert.equal(first.layers, LAYERS - 1);
  assert.deepEqual(options.starts, dealt.starts);
  const again = await plan([withoutLayers(first, 2.5), PLENTY]);
  assert.ok((again.fit.stages?.[0]?.layers ?? LAYERS) < LAYERS - 1);
  assert.deepEqual(again.options.starts, [0, again.fit.stages?.[0]?.layers]);
});
