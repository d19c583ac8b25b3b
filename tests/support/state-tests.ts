import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Device } from '../../src/device/index.ts';
import { openReferenceDevice } from '../../src/devices/reference/index.ts';
import type { GenerateOptions } from '../../src/engine/generate-options.ts';
import { LanguageModel, type ModelOptions } from '../../src/engine/language-model.ts';
import { F32 } from '../../src/formats/index.ts';
import { GgufFile, GgufWriter } from '../../src/gguf/index.ts';
import { readState, writeState } from '../../src/engine/state-file.ts';
import { MemorySink, MemorySource } from '../../src/io/index.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { writeRandomWeights } from '../../src/model/synthetic/random-weights.ts';
import { syntheticShape } from '../../src/model/synthetic/shapes.ts';
import { syntheticPlan } from '../../src/model/synthetic/synthetic-plan.ts';
import { openGguf } from '../../src/node/open-gguf.ts';
import { FAMILY_FIXTURES, familyPaths } from './family-fixtures.ts';
import { hybrid, hybridModel } from './hybrid-model.ts';

/** A device that is opened for each model. */
export interface StateDevice {
  readonly name: string;
  /** Declares a test that receives the device, or says why it cannot run. */
  declare(claim: string, work: (device: Device) => Promise<void>): void;
  /** Additional options for its models, such as plans, which must not affect the results. */
  readonly options?: ModelOptions;
  /** The maximum number of rows in a step, if more take too long. */
  readonly rows?: number;
  /** Selects models; by default all. */
  readonly models?: RegExp;
  /** Whether states can be taken out and brought back, which a group of devices refuses. Default: true. */
  readonly savesStates?: boolean;
  /** A factor on the usual length of texts. Default: 1. */
  readonly brevity?: number;
  /** Whether some drafts must be accepted and others rejected, which depends on what a random model says. Default: true. */
  readonly mixesDrafts?: boolean;
}

type Models = Readonly<Record<string, () => Promise<GgufFile>>>;

/** Models with layers that do not all have full attention. */
const MODELS: Models = {
  'a hybrid of recurrence, attention and windows': hybridModel,
  'gated delta nets beside attention (Qwen 3.5)': () =>
    openGguf(familyPaths({ name: 'qwen35', sizes: {} }).model),
  'Mamba-2 beside attention (Granite 4 H)': () =>
    openGguf(familyPaths({ name: 'granitehybrid', sizes: {} }).model),
  'latents (DeepSeek 2)': () => openGguf(familyPaths({ name: 'deepseek2', sizes: {} }).model),
  'chosen positions (GLM 5)': () => openGguf(familyPaths({ name: 'glm-dsa', sizes: {} }).model),
  'caches of other layers (Gemma 4 E)': () => openGguf(familyPaths({ name: 'gemma4-e', sizes: {} }).model),
  'windows (Gemma 3)': () => openGguf(familyPaths({ name: 'gemma3', sizes: {} }).model),
};

/** The small random model of every architecture that continues texts. */
const FAMILY_MODELS: Models = Object.fromEntries(
  FAMILY_FIXTURES.filter(({ encodes, scores }) => !encodes && scores === undefined).map((family) => [
    family.name,
    () => (family.name.startsWith('rwkv6') ? wideModel(family.name) : openGguf(familyPaths(family).model)),
  ]),
);

/** A model whose states are as long as snapshots ask for: RWKV-6 keeps whole rows, and the family's are short. */
async function wideModel(architecture: string): Promise<GgufFile> {
  const shape = syntheticShape('tiny', { architecture, width: 64 });
  const sink = new MemorySink();
  const writer = await GgufWriter.begin(sink, await syntheticPlan('wide', shape, { format: F32 }));
  await writeRandomWeights(writer, { seed: 1 });
  return GgufFile.open(new MemorySource(sink.bytes(), 'wide.gguf'));
}

/** So few cache positions, in blocks of 32, that sequences are preempted. */
const CONTEXT = 160;

/** More than ten windows long. */
const promptOf = (length: number, from = 0) =>
  Array.from({ length }, (_, i) => 3 + ((7 * i + i * i + from) % 58));

/** Only a few tokens are allowed, so that texts repeat, often with a different continuation. */
const FEW = new Map(
  Array.from({ length: 64 }, (_, id) => id)
    .filter((id) => id < 20 || id > 22)
    .map((id) => [id, Number.NEGATIVE_INFINITY]),
);

/**
 * Declares that sequences of models with several groups of state get the same tokens, whatever happens to their states.
 */
export function testStates(on: StateDevice): void {
  testModels(on, MODELS);
}

/** Declares the same of every architecture: a new one cannot be forgotten. */
export function testFamilyStates(on: StateDevice): void {
  testModels(on, FAMILY_MODELS);
}

function testModels(on: StateDevice, models: Models): void {
  for (const [model, file] of Object.entries(models)) {
    if (on.models?.test(model) === false) continue;
    for (const [claim, check] of Object.entries(CLAIMS)) {
      if (on.savesStates === false && claim.includes('saved')) continue;
      on.declare(`${claim}: ${model} on ${on.name}`, (device) => check(new Setting(on, device, file)));
    }
  }
}

/** Declares the same tests for some models on the reference device. */
export function testReferenceStates(models: RegExp): void {
  testStates({
    name: 'reference',
    models,
    brevity: 0.4,
    declare: (claim, work) =>
      void test(claim, async () => {
        await using device = openReferenceDevice();
        await work(device);
      }),
  });
}

/** A device, a model's file, and the operations of the tests. */
class Setting {
  readonly rows: number;
  readonly #on: StateDevice;
  readonly #device: Device;
  readonly #file: () => Promise<GgufFile>;

  constructor(on: StateDevice, device: Device, file: () => Promise<GgufFile>) {
    this.rows = on.rows ?? 64;
    this.#on = on;
    this.#device = device;
    this.#file = file;
  }

  get mixesDrafts(): boolean {
    return this.#on.mixesDrafts ?? true;
  }

  /** The number of tokens of a text: `usual`, unless the device is slow. */
  tokens(usual = 24): number {
    return Math.ceil(usual * (this.#on.brevity ?? 1));
  }

  async open(options: ModelOptions = {}): Promise<LanguageModel> {
    const parts = {
      gguf: await this.#file(),
      device: this.#device,
      architectures: [...ALL_ARCHITECTURES, hybrid],
      sharesDevice: true,
    };
    return LanguageModel.open(parts, { context: CONTEXT, batch: this.rows, ...this.#on.options, ...options });
  }

  /** The continuation of each prompt, alone on a new model. */
  async alone(prompts: readonly (readonly number[])[], options: GenerateOptions = {}): Promise<number[][]> {
    const texts: number[][] = [];
    await using model = await this.open();
    const { maxTokens = this.tokens(), ...how } = options;
    for (const prompt of prompts) {
      model.reset();
      texts.push(await generated(model, prompt, { maxTokens, ...how }));
    }
    return texts;
  }
}

async function generated(
  model: LanguageModel,
  prompt: readonly number[],
  options: GenerateOptions & { readonly maxTokens: number },
): Promise<number[]> {
  const ids: number[] = [];
  const how = { temperature: 0.8, seed: 4, ignoreEnd: true, ...options };
  for await (const { token } of model.generate(prompt, how)) if (token) ids.push(token.id);
  return ids;
}

const CLAIMS: Readonly<Record<string, (of: Setting) => Promise<void>>> = {
  async 'a prompt in one piece and in many'(of) {
    const [expected] = await of.alone([promptOf(90)]);
    for (const batch of [7, 1]) {
      await using model = await of.open({ batch });
      assert.deepEqual(
        await generated(model, promptOf(90), { maxTokens: of.tokens() }),
        expected,
        `${batch} rows`,
      );
    }
  },

  async 'side by side and alone, with little memory'(of) {
    const prompts = [promptOf(40), promptOf(75, 3), promptOf(5, 9), promptOf(60, 1)];
    const options = { maxTokens: of.tokens(60) };
    const expected = await of.alone(prompts, options);
    // Three at once would need more blocks than there are: the last ones are preempted and resumed.
    for (const cachePositions of [3 * CONTEXT, CONTEXT]) {
      await using model = await of.open({ sequences: 3, batch: Math.min(16, of.rows), cachePositions });
      const texts = prompts.map((prompt) => generated(model, prompt, options));
      assert.deepEqual(await Promise.all(texts), expected, `${cachePositions} positions`);
    }
  },

  async 'a beginning that others have, too'(of) {
    const usual = { maxTokens: of.tokens() };
    const begins = promptOf(70);
    const prompts = [begins, [...begins, 9, 4], [...begins.slice(0, 66), 8, 7], begins];
    const expected = await of.alone(prompts);
    await using model = await of.open({ sequences: 2 });
    const first = await Promise.all(prompts.map((prompt) => generated(model, prompt, usual)));
    assert.deepEqual(first, expected);
    // Continues from what the previous texts left in their slots, where possible.
    const again: number[][] = [];
    for (const prompt of prompts) again.push(await generated(model, prompt, usual));
    assert.deepEqual(again, expected);
    const [whole = []] = expected;
    const more = [...begins, ...whole, 5];
    assert.deepEqual([await generated(model, more, usual)], await of.alone([more]));
  },

  async 'a state saved and restored'(of) {
    const usual = { maxTokens: of.tokens() };
    const [held, prompt] = [promptOf(70), [...promptOf(70), 11, 12, 13]];
    const expected = await of.alone([prompt]);
    await using model = await of.open({ sequences: 2 });
    const snapshot = await model.saveState(held);
    await generated(model, promptOf(90, 17), usual);
    await model.restoreState(snapshot);
    const file = new MemorySink();
    await writeState(model, snapshot, file);
    await model.restoreState(await readState(model, new MemorySource(file.bytes())));
    const both = await Promise.all([generated(model, prompt, usual), generated(model, prompt, usual)]);
    assert.deepEqual(both, [...expected, ...expected]);
    const foreign = { ids: held, states: snapshot.states.slice(1) };
    await assert.rejects(model.restoreState(foreign), { code: 'INVALID_ARGUMENT' });
  },

  async 'what a text has left in its slot, saved'(of) {
    const usual = { maxTokens: of.tokens(), scheduling: { slot: 1 } };
    await using model = await of.open({ sequences: 2, speculation: 3 });
    const first = await generated(model, promptOf(70), usual);
    const snapshot = await model.saveSlot(1);
    const prompt = [...snapshot.ids, 11, 12, 13];
    assert.deepEqual(snapshot.ids, [...promptOf(70), ...first].slice(0, snapshot.ids.length));
    assert.ok(snapshot.ids.length > 0);
    const [expected] = await of.alone([prompt]);
    assert.deepEqual(await generated(model, prompt, usual), expected, 'the slot keeps it');
    await model.eraseSlot(1);
    await assert.rejects(model.saveSlot(1), { code: 'INVALID_ARGUMENT' });
    await model.restoreState(snapshot, 0);
    assert.deepEqual(await generated(model, prompt, { ...usual, scheduling: { slot: 0 } }), expected);
  },

  async 'drafts that are accepted and rejected'(of) {
    const prompts = [promptOf(30), promptOf(45, 3), promptOf(20, 9)];
    const options = { logitBias: FEW, maxTokens: of.tokens(80) };
    const expected = await of.alone(prompts, options);
    await using model = await of.open({
      sequences: 3,
      batch: Math.min(24, of.rows),
      speculation: 3,
      runtime: { adaptsDrafts: false },
      cachePositions: 2 * CONTEXT,
    });
    const ends: { proposedTokens: number; acceptedTokens: number }[] = [];
    const texts = prompts.map(async (prompt) => {
      const stream = model.generate(prompt, { temperature: 0.8, seed: 4, ignoreEnd: true, ...options });
      const ids: number[] = [];
      for await (const { token } of stream) if (token) ids.push(token.id);
      ends.push(stream.end);
      return ids;
    });
    assert.deepEqual(await Promise.all(texts), expected);
    const total = (name: 'proposedTokens' | 'acceptedTokens') =>
      ends.reduce((sum, end) => sum + end[name], 0);
    const [proposed, accepted] = [total('proposedTokens'), total('acceptedTokens')];
    const isMixed = accepted > 0 && accepted < proposed;
    assert.ok(isMixed || !of.mixesDrafts, `${accepted} of ${proposed} drafts were accepted`);
  },
};
