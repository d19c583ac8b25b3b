import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRocmforgeError } from '../../src/base/errors.ts';
import type { Device } from '../../src/device/index.ts';
import { openReferenceDevice } from '../../src/devices/reference/index.ts';
import type { GenerateOptions } from '../../src/engine/generate-options.ts';
import { LanguageModel, type ModelOptions, type ModelSetup } from '../../src/engine/language-model.ts';
import { GgufFile } from '../../src/gguf/index.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { openCpu } from '../../src/node/open-cpu.ts';
import { openSource } from '../../src/node/open-source.ts';
import { familyPaths } from '../support/family-fixtures.ts';
import { openMortalCpu } from '../support/mortal-cpu.ts';
import { tinyModel } from '../support/tiny-model.ts';

interface Request {
  readonly prompt: readonly number[];
  readonly options: GenerateOptions;
}

/** Greedy and drawn, with penalties and without; one goes on behind the end of the context. */
const REQUESTS: readonly Request[] = Array.from({ length: 4 }, (_, i) => ({
  prompt: Array.from({ length: 9 + 9 * i }, (_unused, at) => 3 + ((at * 37 + i * 11) % 256)),
  options: {
    temperature: i % 2,
    seed: 7 + i,
    repeatPenalty: i === 3 ? 1.2 : 1,
    penaltyWindow: -1,
    maxTokens: i === 1 ? 60 : 14 + 5 * i,
    ignoreEnd: true,
    ...(i === 1 && { shift: { keep: 4 } }),
    ...(i === 2 && { logProbabilities: 2 }),
  },
}));

const CONTEXT = 64;

async function partsOf(device: Device, draft?: Promise<GgufFile>): Promise<ModelSetup> {
  const parts = { gguf: await tinyModel(), device, architectures: ALL_ARCHITECTURES };
  return draft ? { ...parts, draft: { gguf: await draft } } : parts;
}

/** The number of draft tokens does not follow measured times. */
const runtime = { adaptsDrafts: false };

interface Said {
  readonly tokens: object[];
  readonly proposed: number;
  readonly accepted: number;
}

async function say(model: LanguageModel, { prompt, options }: Request): Promise<Said> {
  const tokens: object[] = [];
  const stream = model.generate(prompt, options);
  for await (const { token } of stream) if (token) tokens.push(token);
  const { proposedTokens: proposed, acceptedTokens: accepted } = stream.end;
  return { tokens, proposed, accepted };
}

/** What is said twice, at once, and in how many steps; nothing is left of it. */
async function saidWith(draft: Promise<GgufFile> | undefined, options: ModelOptions = {}) {
  const device = await openCpu({ threads: 1 });
  const model = await LanguageModel.open(await partsOf(device, draft), {
    context: CONTEXT,
    runtime,
    ...options,
  });
  const all = await Promise.all(REQUESTS.map((request) => say(model, request)));
  const again = await Promise.all(REQUESTS.map((request) => say(model, request)));
  const texts = all.map(({ tokens }) => tokens);
  assert.deepEqual(
    again.map(({ tokens }) => tokens),
    texts,
  );
  const sum = (of: 'proposed' | 'accepted') => all.reduce((total, said) => total + said[of], 0);
  const { steps } = model.counters;
  await model.dispose();
  assert.equal(device.liveObjects(), 0);
  return { texts, steps, proposed: sum('proposed'), accepted: sum('accepted') };
}

const expected = saidWith(undefined, { sequences: 4 });

test('a model that is its own draft is always right, greedy or drawn, and saves steps', async () => {
  const { texts, steps } = await expected;
  const own = await saidWith(tinyModel(), { sequences: 4 });
  assert.deepEqual(own.texts, texts);
  assert.ok(own.proposed > 60 && own.accepted === own.proposed, `${own.accepted} of ${own.proposed}`);
  assert.ok(own.steps < 0.45 * steps, `${own.steps} steps instead of ${steps}`);
});

test('the log has a line for each text, and the rounds of its draft only among the single steps', async () => {
  const lines: string[] = [];
  const say = (level: string) => (message: string) => lines.push(`${level} ${message}`);
  const levels = { warn: say('warn'), info: say('info'), debug: say('debug'), trace: say('trace') };
  await saidWith(tinyModel(), { logger: { enabled: () => true, ...levels } });
  const count = (line: string) => lines.filter((one) => one === line).length;
  assert.equal(count('debug generated'), 2 * REQUESTS.length);
  assert.ok(count('trace generated') > 2 * REQUESTS.length);
});

test('a draft that rounds more coarsely is often right, one that is another model seldom; no token changes', async () => {
  const { texts } = await expected;
  const near = await saidWith(tinyModel('BF16'), { sequences: 2, speculation: 3 });
  assert.deepEqual(near.texts, texts);
  assert.ok(near.accepted > 0.5 * near.proposed, `${near.accepted} of ${near.proposed}`);
  assert.ok(near.accepted < near.proposed);
  const other = await saidWith(tinyModel('F32', [], { seed: 12 }), { sequences: 4, speculation: 6 });
  assert.deepEqual(other.texts, texts);
  assert.ok(other.proposed > 60 && other.accepted < 0.3 * other.proposed);
});

test('memory for less than two, small steps, and a draft with a shorter context change no token', async () => {
  const { texts } = await expected;
  const tight = { sequences: 4, cachePositions: 96, batch: 20 };
  assert.deepEqual((await saidWith(tinyModel('BF16'), tight)).texts, texts);
  const short = tinyModel('F32', [['llama.context_length', { type: 'u32', value: 20 }]]);
  const brief = await saidWith(short, { sequences: 4 });
  assert.deepEqual(brief.texts, texts);
  assert.ok(brief.accepted === brief.proposed && brief.proposed > 0);
});

test('a draft model proposes what it finds probable enough, and few tokens are none', async () => {
  const { texts } = await expected;
  const sure = await saidWith(tinyModel(), { sequences: 4, minDraftProbability: 1 });
  assert.deepEqual([sure.texts, sure.proposed], [texts, 0]);
  const some = await saidWith(tinyModel(), { sequences: 4, minDraftProbability: 0.01 });
  assert.deepEqual(some.texts, texts);
  assert.ok(some.proposed > 0 && some.accepted === some.proposed);
  const many = await saidWith(tinyModel(), { sequences: 4, minDraftTokens: 5 });
  assert.deepEqual(many.texts, texts);
  assert.ok(many.proposed > 0, 'at least five instead of the usual four');
  const predictor = await partsOf(openReferenceDevice());
  await assert.rejects(LanguageModel.open(predictor, { speculation: 2, minDraftProbability: 0.5 }), {
    code: 'INVALID_ARGUMENT',
  });
});

test('whatever number of draft tokens is tried, no token changes', async () => {
  const { texts } = await expected;
  const adapted = await saidWith(tinyModel('BF16'), { sequences: 4, runtime: {} });
  assert.deepEqual(adapted.texts, texts);
  assert.ok(adapted.proposed > 0);
});

test('some have draft tokens and others not; a constrained one and one that is left do no harm', async () => {
  const { texts } = await expected;
  const device = await openCpu({ threads: 1 });
  await using model = await LanguageModel.open(await partsOf(device, tinyModel()), {
    context: CONTEXT,
    sequences: 3,
  });
  const anything = {
    isComplete: false,
    fill: async (mask: Int32Array) => void mask.fill(-1),
    accept: () => {},
  };
  const held = {
    ...(REQUESTS[0] as Request).options,
    constraint: { ...anything, [Symbol.dispose]: () => {} },
  };
  const left = (async () => {
    for await (const { token } of model.generate([5, 6, 7], { maxTokens: 40, ignoreEnd: true }))
      if (token) break;
  })();
  const controller = new AbortController();
  const aborted = model.generate([9, 8, 7, 6], { maxTokens: 40, signal: controller.signal }).text();
  const [constrained, plain, drafted] = await Promise.all([
    say(model, { prompt: (REQUESTS[0] as Request).prompt, options: held }),
    say(model, { prompt: REQUESTS[2]?.prompt ?? [], options: { ...REQUESTS[2]?.options, speculation: 0 } }),
    say(model, REQUESTS[3] as Request),
    left,
    Promise.resolve().then(() => controller.abort()),
    assert.rejects(aborted, { code: 'ABORTED' }),
  ]);
  assert.deepEqual([constrained?.tokens, plain?.tokens, drafted?.tokens], [texts[0], texts[2], texts[3]]);
  assert.deepEqual([constrained?.proposed, plain?.proposed], [0, 0]);
  assert.ok((drafted?.proposed ?? 0) > 0);
});

test('an open model may be the draft, and stays open', async () => {
  await using draft = await LanguageModel.open(await partsOf(openReferenceDevice()), { context: CONTEXT });
  const parts = { ...(await partsOf(openReferenceDevice())), draft };
  const model = await LanguageModel.open(parts, { context: CONTEXT });
  const [request] = REQUESTS as [Request];
  const said = await say(model, request);
  assert.deepEqual(said.tokens, (await expected).texts[0]);
  assert.ok(said.accepted === said.proposed && said.accepted > 0);
  await model.dispose();
  assert.deepEqual((await say(draft, request)).tokens, said.tokens);
});

test('a draft that cannot propose for the model is refused, and nothing is left open', async () => {
  const pieces = Array.from({ length: 261 }, (_, id) => (id === 9 ? 'other' : `piece ${id}`));
  const own = await tinyModel();
  const tokens = [...(own.metadata.strings('tokenizer.ggml.tokens') ?? [])];
  const renamed = tokens.map((piece, id) => (id === 70 ? 'another' : piece));
  const list = (values: readonly string[]) =>
    tinyModel('F32', [['tokenizer.ggml.tokens', { type: 'array', element: 'string', values }]]);
  const rwkv = familyPaths({ name: 'rwkv7', sizes: {} }).model;
  for (const [draft, code] of [
    [list(pieces), 'DRAFT_VOCABULARY'],
    [list(renamed), 'DRAFT_VOCABULARY'],
    [list([...tokens, ...Array.from({ length: 200 }, (_, i) => `more ${i}`)]), 'DRAFT_VOCABULARY'],
    [GgufFile.open(await openSource(rwkv)), 'DRAFT_UNSUPPORTED'],
  ] as const) {
    await using device = openReferenceDevice();
    const parts = await partsOf(device, draft);
    await assert.rejects(LanguageModel.open(parts), (error) => isRocmforgeError(error, code));
    assert.equal(device.liveObjects(), 0);
    await assert.rejects((await draft).tensors[0]?.source.read(0, new Uint8Array(1)) ?? Promise.resolve(), {
      code: 'DISPOSED',
    });
  }
});

test('the plan of the memory counts both models, and is what was planned', async () => {
  const device = openReferenceDevice();
  const parts = await partsOf(device, tinyModel('Q8_0'));
  const options = { context: CONTEXT, speculation: 4 };
  const [both, alone, draft] = await Promise.all([
    LanguageModel.fit(parts, options),
    LanguageModel.fit({ ...parts, draft: undefined }, options),
    LanguageModel.fit(await partsOf(device), { context: CONTEXT }),
  ]);
  assert.equal(both.total, alone.total + both.draft);
  assert.equal(both.onDevice, alone.onDevice + both.draft);
  assert.ok(both.draft > 0 && both.draft < draft.total);
  await using model = await LanguageModel.open(parts, options);
  assert.deepEqual([model.fit.total, model.fit.draft], [both.total, both.draft]);
});

test('a lost device takes the draft along, and the same tokens come', async () => {
  const devices: Awaited<ReturnType<typeof openMortalCpu>>[] = [];
  const reopen = async () => {
    devices.push(await openMortalCpu());
    return (devices.at(-1) as (typeof devices)[number]).device;
  };
  const parts = { ...(await partsOf(await reopen(), tinyModel())), reopen };
  const model = await LanguageModel.open(parts, { context: CONTEXT });
  const [request] = REQUESTS as [Request];
  const tokens: object[] = [];
  for await (const { token } of model.generate(request.prompt, request.options)) {
    if (token) tokens.push(token);
    if (tokens.length === 5) devices[0]?.lose();
  }
  assert.deepEqual(tokens, (await expected).texts[0]);
  const after = await say(model, REQUESTS[3] as Request);
  assert.ok(after.accepted === after.proposed && after.accepted > 0, 'the draft is there again');
  await model.dispose();
  assert.equal(devices.length, 2);
  for (const { device } of devices) assert.equal(device.liveObjects(), 0);
});
