import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRocmforgeError } from '../../src/base/errors.ts';
import type { Device } from '../../src/device/index.ts';
import { openReferenceDevice } from '../../src/devices/reference/index.ts';
import type { GenerateOptions } from '../../src/engine/generate-options.ts';
import { LanguageModel, type ModelOptions } from '../../src/engine/language-model.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { openCpu } from '../../src/node/open-cpu.ts';
import { setTimeout } from 'node:timers/promises';
import { Engine } from '../../src/engine/engine.ts';
import { GgufFile } from '../../src/gguf/index.ts';
import { AsyncModelLoader } from '../../src/load/async-model-loader.ts';
import { ExecutionPlan } from '../../src/plan/execution-plan.ts';
import { stateOf } from '../../src/state/state-of.ts';
import { describeModel } from '../../src/plan/parts/plan-options.ts';
import { StepProfile } from '../../src/runtime/jobs/step-profile.ts';
import { idsOf } from '../support/ids-of.ts';
import { TINY, tinyBytes, tinyModel } from '../support/tiny-model.ts';
import { WatchedSource } from '../support/watched-source.ts';
import { withCapacities } from '../support/with-capacities.ts';

async function open(device: Device, options: ModelOptions): Promise<LanguageModel> {
  return LanguageModel.open({ gguf: await tinyModel(), device, architectures: ALL_ARCHITECTURES }, options);
}

const promptOf = (seed: number) =>
  Array.from({ length: 3 + seed * 5 }, (_, i) => 3 + ((i * 37 + seed * 11) % 256));

/** Requests of many kinds: greedy, drawn, with penalties, long and short. */
const REQUESTS = Array.from({ length: 10 }, (_, i) => ({
  prompt: promptOf(i),
  options: {
    temperature: i % 3 === 0 ? 0 : 1,
    seed: 100 + i,
    repeatPenalty: i % 2 === 0 ? 1.3 : 1,
    penaltyWindow: -1,
    maxTokens: 5 + ((i * 7) % 20),
    ignoreEnd: true,
  } satisfies GenerateOptions,
}));

function answer(model: LanguageModel, { prompt, options }: (typeof REQUESTS)[number]): Promise<number[]> {
  return idsOf(model, prompt, options);
}

async function alone(): Promise<number[][]> {
  await using model = await open(openReferenceDevice(), { inFlight: 1 });
  const all: number[][] = [];
  for (const request of REQUESTS) {
    model.reset();
    all.push(await answer(model, request));
  }
  return all;
}

const VARIANTS: Readonly<Record<string, readonly [capacities: readonly number[], options: ModelOptions]>> = {
  'one after the other, the next step queued': [[], { inFlight: 3 }],
  'four at once': [[], { sequences: 4 }],
  'four at once, each step read before the next': [[], { sequences: 4, inFlight: 1 }],
  'four at once in small steps': [[], { sequences: 4, batch: 6 }],
  'in plans of several capacities': [[1, 2, 8], { sequences: 4 }],
  'with a cache for less than two': [[], { sequences: 4, cachePositions: 160, context: 96 }],
  'no step queued before the last is read': [
    [],
    { sequences: 4, inFlight: 3, runtime: { pipelined: false } },
  ],
  'inputs waited for': [[], { sequences: 4, runtime: { asyncInputs: false } }],
  'chosen on the host': [[], { sequences: 4, runtime: { sampling: 'host' } }],
  'in batches that nobody joins': [[], { sequences: 4, runtime: { batching: 'static' } }],
  'every step recorded anew': [[1, 2, 8], { sequences: 4, preparedSteps: 0 }],
  'two steps kept': [[1, 2, 8], { sequences: 4, preparedSteps: 2 }],
  'no step recorded ahead': [[1, 2, 8], { sequences: 4, runtime: { recordsAhead: false } }],
};

const expected = alone();
for (const [name, [capacities, options]] of Object.entries(VARIANTS)) {
  test(`the same tokens as alone: ${name}`, async () => {
    await using model = await open(withCapacities(openReferenceDevice(), capacities), options);
    assert.deepEqual(await Promise.all(REQUESTS.map((request) => answer(model, request))), await expected);
  });
}

test('what is counted: steps, those that were recorded already, and the bytes that come back', async () => {
  const [request] = REQUESTS as [(typeof REQUESTS)[number]];
  const count = async (options: ModelOptions) => {
    await using model = await open(openReferenceDevice(), { load: 'eager', ...options });
    const before = model.device.liveObjects();
    const ids = await answer(model, request);
    const objects = model.device.liveObjects() - before;
    return { ...model.counters, ids: ids.length, objects };
  };
  const usual = await count({});
  assert.equal(usual.preparedHits + usual.preparedMisses, usual.steps);
  assert.equal(usual.preparedMisses, 1, 'the one step of this device is recorded once');
  // One more may be under way when the last token is read.
  assert.ok(usual.bytesBack >= 4 * usual.ids && usual.bytesBack <= 4 * (usual.ids + 1));
  const anew = await count({ preparedSteps: 0, inFlight: 1 });
  assert.deepEqual([anew.preparedHits, anew.preparedMisses], [0, anew.steps]);
  assert.ok(anew.objects <= 1, `${anew.objects} steps are still there`);
  const host = await count({ runtime: { sampling: 'host' } });
  assert.equal(host.bytesBack, 4 * TINY.vocabulary * host.ids);
});

test('requests of one turn take as many steps together as one alone, from the first step on', async () => {
  await using model = await open(openReferenceDevice(), { sequences: 4 });
  const options = { temperature: 0, maxTokens: 8, ignoreEnd: true } as const;
  const prompts = [3, 4, 5, 6].map((first) => [first, 7, 8]);
  const stepsOf = async (together: readonly (readonly number[])[]) => {
    const before = model.counters.steps;
    await Promise.all(together.map((prompt) => idsOf(model, prompt, options)));
    return model.counters.steps - before;
  };
  const [first = [], ...others] = prompts;
  assert.equal(await stepsOf(others), await stepsOf([first]));
});

test('steps upload what changed: as much for a long context and many sequences as for few', async () => {
  const [request] = REQUESTS as [(typeof REQUESTS)[number]];
  const bytesOf = async (options: ModelOptions) => {
    await using model = await open(openReferenceDevice(), { load: 'eager', batch: 8, ...options });
    await answer(model, request);
    const { steps, bytesUp } = model.counters;
    await answer(model, request);
    return (model.counters.bytesUp - bytesUp) / (model.counters.steps - steps);
  };
  const few = await bytesOf({ context: 64, sequences: 1 });
  const many = await bytesOf({ context: 8192, sequences: 8 });
  // Both begin with rows of 256 bytes for each small input; a block more of a sequence is as much.
  assert.ok(many <= few + 512 && many < 4096, `${few} and ${many} bytes a step`);
});

test('a profile tells of every phase of every step, and its trace is one', async () => {
  const profile = new StepProfile({ withTrace: true });
  await using model = await open(openReferenceDevice(), { sequences: 4, profile });
  await Promise.all(REQUESTS.map((request) => answer(model, request)));
  await model.dispose();
  const { steps } = model.counters;
  const counts = new Map(profile.summary().map(({ phase, count }) => [phase, count]));
  for (const phase of ['dispatch', 'load', 'submit', 'wait', 'back', 'step'] as const)
    assert.equal(counts.get(phase), steps, phase);
  const { preparedHits, preparedMisses } = model.counters;
  assert.equal(profile.hitRate, preparedHits / (preparedHits + preparedMisses));
  assert.ok((counts.get('gap') ?? 0) > 0 && profile.idleFraction >= 0 && profile.idleFraction < 1);
  for (const { median, p95, max } of profile.summary()) assert.ok(median <= p95 && p95 <= max);
  const spans = profile.trace?.spans ?? [];
  assert.equal(spans.length, 5 * steps);
  assert.ok(spans.every(({ begin, end }) => begin <= end));
});

test('the CPU device computes the same for a sequence whoever else is in the batch', async () => {
  await using one = await open(await openCpu(), { inFlight: 1 });
  await using many = await open(await openCpu(), { sequences: 5 });
  const [apart, together] = await Promise.all([
    Promise.all(REQUESTS.map((request) => answer(one, request))),
    Promise.all(REQUESTS.map((request) => answer(many, request))),
  ]);
  assert.deepEqual(together, apart);
});

test('as many as the model is opened for keep their contexts beside each other', async () => {
  // Of the last of three blocks, two positions are used.
  await using model = await open(openReferenceDevice(), { sequences: 3, context: 66 });
  const prompts = [3, 4, 5].map((first) => Array.from({ length: 64 }, (_, i) => first + ((i * 37) % 250)));
  const cached = () =>
    Promise.all(
      prompts.map(async (prompt) => {
        const stream = model.generate(prompt, { temperature: 0, maxTokens: 2, ignoreEnd: true });
        await stream.text();
        return stream.end.cachedTokens;
      }),
    );
  assert.deepEqual(await cached(), [0, 0, 0]);
  assert.deepEqual(await cached(), [63, 63, 63]);
  assert.deepEqual(await cached(), [63, 63, 63]);
});

test('one that is aborted leaves the others alone', async () => {
  await using model = await open(openReferenceDevice(), { sequences: 3 });
  const controllers = REQUESTS.map(() => new AbortController());
  const results = await Promise.allSettled(
    REQUESTS.map(async ({ prompt, options }, i) => {
      const ids: number[] = [];
      const signal = controllers[i]?.signal;
      for await (const { token } of model.generate(prompt, { ...options, signal })) {
        if (token) ids.push(token.id);
        if (i % 4 === 1 && ids.length === 2) controllers[i]?.abort();
      }
      return ids;
    }),
  );
  for (const [i, result] of results.entries()) {
    if (result.status === 'fulfilled') assert.deepEqual(result.value, (await expected)[i]);
    else assert.ok(i % 4 === 1 && isRocmforgeError(result.reason, 'ABORTED'));
  }
  assert.equal(results.filter(({ status }) => status === 'rejected').length, 3);
});

test('a reader that does not read holds up nobody else', async () => {
  await using model = await open(openReferenceDevice(), { sequences: 2 });
  const slow = model
    .generate(promptOf(1), { maxTokens: 90, ignoreEnd: true, temperature: 0 })
    [Symbol.asyncIterator]();
  await slow.next();
  const request = REQUESTS[3] as (typeof REQUESTS)[number];
  for (let i = 0; i < 4; i++) assert.deepEqual(await answer(model, request), (await expected)[3]);
  let rest = 0;
  while (!(await slow.next()).done) rest++;
  assert.ok(rest >= 89);
});

test('forced decoding waits for those who generate, and they for it', async () => {
  await using model = await open(openReferenceDevice(), { sequences: 2, logitRows: 4 });
  const evaluate = async () => {
    let positions = 0;
    for await (const _ of model.evaluate(promptOf(4))) positions++;
    return positions;
  };
  const [first, positions, second] = await Promise.all([
    answer(model, REQUESTS[5] as (typeof REQUESTS)[number]),
    evaluate(),
    answer(model, REQUESTS[6] as (typeof REQUESTS)[number]),
  ]);
  assert.equal(positions, promptOf(4).length);
  assert.deepEqual([first, second], [(await expected)[5], (await expected)[6]]);
});

test('disposal ends what generates with a typed error', async () => {
  const model = await open(openReferenceDevice(), { sequences: 2 });
  const stream = model.generate(promptOf(2), { maxTokens: 100, ignoreEnd: true })[Symbol.asyncIterator]();
  await stream.next();
  const rest = (async () => {
    while (!(await stream.next()).done);
  })();
  await Promise.all([assert.rejects(rest, (error) => isRocmforgeError(error, 'DISPOSED')), model.dispose()]);
  assert.equal(model.device.liveObjects(), 0);
});

test('who waits for one that holds the device may give up, and ends with the model', async () => {
  const model = await open(openReferenceDevice(), { sequences: 2 });
  const held = model.evaluate(promptOf(1));
  await held.next();
  const controller = new AbortController();
  const { signal } = controller;
  const given = [model.generate(promptOf(1), { signal }).text(), model.evaluate([3], 0, { signal }).next()];
  controller.abort();
  for (const gone of given) await assert.rejects(gone, (error) => isRocmforgeError(error, 'ABORTED'));
  const late = [model.generate(promptOf(1)).text(), model.evaluate([3]).next()];
  const ended = late.map((gone) => assert.rejects(gone, (error) => isRocmforgeError(error, 'DISPOSED')));
  await model.dispose();
  await Promise.all(ended);
  await assert.rejects(held.next(), (error) => isRocmforgeError(error, 'DISPOSED'));
  assert.equal(model.device.liveObjects(), 0);
});

test('disposal waits for forced decoding under way, which then ends', async () => {
  const source = new WatchedSource(await tinyBytes());
  const gguf = await GgufFile.open(source);
  const device = openReferenceDevice();
  const from = { gguf, device, architectures: ALL_ARCHITECTURES };
  const loader = new AsyncModelLoader(device);
  const plan = await ExecutionPlan.fromGguf(from, loader, { context: 32 });
  const engine = new Engine({
    device,
    plan,
    state: stateOf(describeModel(from, { context: 32 }).setup.state),
  });
  const order: string[] = [];
  let release = (): void => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const asked = new Promise<void>((resolve) => {
    source.onRead = () => (resolve(), held);
  });
  const rows = engine.evaluate([1, 2, 3]);
  const first = rows.next().then(() => order.push('computed'));
  await asked;
  const disposed = engine[Symbol.asyncDispose]().then(() => order.push('disposed'));
  await setTimeout(20);
  assert.deepEqual(order, []);
  release();
  await Promise.all([first, disposed]);
  assert.deepEqual(order, ['computed', 'disposed']);
  await assert.rejects(rows.next(), { code: 'DISPOSED' });
  for (const part of [loader, plan, device, gguf]) await part[Symbol.asyncDispose]();
  assert.equal(device.liveObjects(), 0);
});
