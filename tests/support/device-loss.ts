import assert from 'node:assert/strict';
import { setTimeout } from 'node:timers/promises';
import { isRocmforgeError } from '../../src/base/errors.ts';
import { type Logger, silentLogger } from '../../src/base/log.ts';
import type { Device } from '../../src/device/index.ts';
import type { GenerateOptions } from '../../src/engine/generate-options.ts';
import { LanguageModel, type ModelOptions } from '../../src/engine/language-model.ts';
import type { SampledToken } from '../../src/runtime/jobs/sampled-token.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { tinyModel } from './tiny-model.ts';

/** A device, and how a test causes its loss. */
export interface MortalDevice {
  readonly device: Device;
  lose(): void;
}

/** Called when a device is opened, with its number from 0. Rejects to refuse. */
type Opening = (number: number) => Promise<void>;

/** A model whose device is lost on a test's command. */
class MortalModel implements AsyncDisposable {
  readonly #devices: MortalDevice[] = [];
  #model: LanguageModel | undefined;
  /** Called before each step, with its number and row count. */
  onStep: (step: number, rows: number) => void = () => {};
  opening: Opening = async () => {};
  steps = 0;

  static async open(
    open: () => Promise<MortalDevice>,
    { once = false, ...options }: ModelOptions & { once?: boolean } = {},
  ): Promise<MortalModel> {
    const mortal = new MortalModel();
    const reopen = async () => {
      await mortal.opening(mortal.#devices.length);
      const opened = await open();
      mortal.#devices.push(opened);
      return opened.device;
    };
    const gguf = await tinyModel('Q4_0');
    const parts = { gguf, device: await reopen(), architectures: ALL_ARCHITECTURES };
    const sizes = { context: 64, batch: 16, ...options, logger: mortal.#logger() };
    mortal.#model = await LanguageModel.open(once ? parts : { ...parts, reopen }, sizes);
    return mortal;
  }

  get model(): LanguageModel {
    return this.#model as LanguageModel;
  }

  /** The number of devices opened so far. */
  get opened(): number {
    return this.#devices.length;
  }

  lose(): void {
    this.#devices.at(-1)?.lose();
  }

  /** Loses the device before these steps, counted from now on. */
  loseAt(...steps: readonly number[]): void {
    const begin = this.steps;
    this.onStep = (step) => {
      if (steps.includes(step - begin)) this.lose();
    };
  }

  async ids(prompt: readonly number[], options: GenerateOptions = {}): Promise<number[]> {
    return (await this.tokens(prompt, options)).map(({ id }) => id);
  }

  async tokens(prompt: readonly number[], options: GenerateOptions = {}): Promise<SampledToken[]> {
    const tokens: SampledToken[] = [];
    const stream = this.model.generate(prompt, { temperature: 0, ignoreEnd: true, maxTokens: 8, ...options });
    for await (const { token } of stream) if (token) tokens.push(token);
    return tokens;
  }

  /** Checks that nothing remains of any device. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.model.dispose();
    for (const [i, { device }] of this.#devices.entries()) {
      assert.equal(device.liveObjects(), 0, `device ${i} of ${this.opened}`);
    }
  }

  #logger(): Logger {
    return {
      ...silentLogger,
      enabled: () => true,
      trace: (message, fields) => {
        if (message === 'step') this.onStep(this.steps++, fields?.['rows'] as number);
      },
    };
  }
}

const promptOf = (length: number, seed: number) =>
  Array.from({ length }, (_, i) => 3 + ((i * 37 + seed * 11) % 256));

/** Sampled with penalties, greedy, and one that waits for a slot; the last prompt takes several steps. */
const REQUESTS = [
  { length: 4, options: { temperature: 1, seed: 3, repeatPenalty: 1.3, penaltyWindow: -1, maxTokens: 14 } },
  { length: 7, options: { maxTokens: 9 } },
  { length: 40, options: { temperature: 0.7, seed: 9, maxTokens: 6 } },
] as const;

function answers(mortal: MortalModel): Promise<SampledToken[][]> {
  mortal.model.reset();
  return Promise.all(
    REQUESTS.map(({ length, options }, i) =>
      mortal.tokens(promptOf(length, i), { ...options, logProbabilities: 2 }),
    ),
  );
}

function rejects(work: Promise<unknown>, code: Parameters<typeof isRocmforgeError>[1]): Promise<void> {
  return assert.rejects(work, (error) => isRocmforgeError(error, code));
}

/** A test case, given how to open a device. */
export interface LossCase {
  readonly name: string;
  /** True if it holds regardless of the batch, on devices whose results do not depend on it. */
  readonly anyBatch?: boolean;
  /** True if the device is lost and reopened several times. */
  readonly manyLosses?: boolean;
  run(open: () => Promise<MortalDevice>): Promise<void>;
}

/** Must hold on a device that cannot be reopened in this process. */
export const FAULT_CASE: LossCase = {
  name: 'a fault that ends the device for good fails everyone who waits, and leaves nothing',
  async run(open) {
    await using mortal = await MortalModel.open(open);
    mortal.loseAt(2);
    const waiting = [1, 2].map((seed) => mortal.ids(promptOf(5, seed)));
    for (const one of waiting) await rejects(one, 'DEVICE_NOT_RESTORED');
  },
};

/** So many texts at once. */
const MANY = 64;

/** Texts of many sequences, for devices on which a step of as many rows is worth the wait. */
export const MANY_TEXTS_CASE: LossCase = {
  name: `${MANY} texts go on with the same tokens when the device is lost in the middle of them`,
  async run(open) {
    await using mortal = await MortalModel.open(open, { sequences: MANY, context: 16, batch: MANY });
    const all = () => {
      mortal.model.reset();
      const texts = Array.from({ length: MANY }, (_, seed) => {
        const options = { temperature: 1, seed, maxTokens: 4 + (seed % 3) };
        return mortal.ids(promptOf(1 + (seed % 5), seed), options);
      });
      return Promise.all(texts);
    };
    const expected = await all();
    const { steps } = mortal;
    mortal.loseAt(Math.floor(steps / 2));
    assert.deepEqual(await all(), expected);
    assert.equal(mortal.opened, 2);
  },
};

/** Must hold on every device after a loss. */
export const LOSS_CASES: readonly LossCase[] = [
  {
    name: 'prompts and streams go on with the same tokens and probabilities, whenever the device is lost',
    manyLosses: true,
    async run(open) {
      await using mortal = await MortalModel.open(open, { sequences: 2 });
      const expected = await answers(mortal);
      const { steps } = mortal;
      // During the first prompts, during generation, and while that is recomputed.
      const losses = [1, 9, 10];
      mortal.loseAt(...losses);
      assert.deepEqual(await answers(mortal), expected);
      assert.ok(mortal.steps - steps > Math.max(...losses));
      // The last two may be so close together that they count as one.
      assert.ok(mortal.opened >= losses.length, `${mortal.opened} devices`);
    },
  },
  {
    name: 'what an earlier text left in the cache is computed as it was',
    async run(open) {
      await using mortal = await MortalModel.open(open);
      const scored = { logProbabilities: 0, maxTokens: 5 };
      const talk = async () => {
        mortal.model.reset();
        const first = promptOf(3, 1);
        const said = [...first, ...(await mortal.ids(first))];
        const begin = mortal.steps;
        mortal.onStep = (step) => step - begin === lossAt && mortal.lose();
        return await mortal.tokens([...said, 5, 6], scored);
      };
      let lossAt = -1;
      const expected = await talk();
      lossAt = 2;
      assert.deepEqual(await talk(), expected);
      assert.equal(mortal.opened, 2);
    },
  },
  {
    name: 'forced decoding goes on at the position where the device was lost',
    anyBatch: true,
    async run(open) {
      await using mortal = await MortalModel.open(open, { logitRows: 4 });
      const ids = promptOf(20, 2);
      const logits = async (lossAt: number) => {
        const all: Float32Array[] = [];
        for await (const { position, logits: found } of mortal.model.evaluate(ids, 5)) {
          if (position === lossAt) mortal.lose();
          all.push(found.slice());
        }
        return all;
      };
      const expected = await logits(-1);
      assert.equal(expected.length, 15);
      assert.deepEqual(await logits(11), expected);
      assert.equal(mortal.opened, 2);
    },
  },
  {
    name: 'texts that are embedded together are computed again where they are not done',
    anyBatch: true,
    async run(open) {
      await using mortal = await MortalModel.open(open, { sequences: 3, batch: 4, pooling: 'mean' });
      const texts = [2, 17, 25].map((length, seed) => promptOf(length, seed));
      const expected = [];
      for (const ids of texts) expected.push(await mortal.model.embed(ids));
      const made = texts.map((ids) => mortal.model.embed(ids));
      await made[0];
      mortal.lose();
      assert.deepEqual(await Promise.all(made), expected);
      assert.equal(mortal.opened, 2);
    },
  },
  {
    name: 'a device that is lost again while it is brought back, or opens late, is tried again',
    anyBatch: true,
    async run(open) {
      await using mortal = await MortalModel.open(open, { load: 'eager' });
      const expected = await mortal.ids(promptOf(5, 1));
      mortal.model.reset();
      mortal.loseAt(2);
      mortal.opening = async (number) => {
        if (number === 1 && mortal.steps > 0) {
          mortal.steps = -1000;
          throw new Error('the driver is not back yet');
        }
        // The device is lost while its weights are loaded.
        if (number === 1) void setTimeout(1).then(() => mortal.lose());
      };
      assert.deepEqual(await mortal.ids(promptOf(5, 1)), expected);
      assert.ok(mortal.opened >= 2 && mortal.opened <= 3);
    },
  },
  {
    name: 'a device that does not come back fails everyone who waits, and is tried again for the next',
    anyBatch: true,
    async run(open) {
      await using mortal = await MortalModel.open(open, { sequences: 2 });
      const expected = await mortal.ids(promptOf(5, 1));
      mortal.model.reset();
      mortal.loseAt(3);
      mortal.opening = async () => {
        throw new Error('the card fell off the bus');
      };
      const waiting = [1, 2, 3].map((seed) => mortal.ids(promptOf(5, seed), { maxTokens: 20 }));
      for (const one of waiting) await rejects(one, 'DEVICE_NOT_RESTORED');
      mortal.opening = async () => {};
      assert.deepEqual(await mortal.ids(promptOf(5, 1)), expected);
    },
  },
  {
    name: 'requests come and go while the device is away',
    anyBatch: true,
    async run(open) {
      await using mortal = await MortalModel.open(open, { sequences: 2 });
      const expected = await mortal.ids(promptOf(5, 1));
      mortal.model.reset();
      const controller = new AbortController();
      let cancelled: Promise<unknown> = Promise.resolve();
      let late: Promise<number[]> = Promise.resolve([]);
      mortal.loseAt(3);
      mortal.opening = async () => {
        late = mortal.ids(promptOf(5, 1));
        controller.abort();
        // Does not wait for the device.
        await cancelled;
      };
      const stays = mortal.ids(promptOf(5, 1));
      cancelled = rejects(
        mortal.ids(promptOf(9, 7), { signal: controller.signal, maxTokens: 30 }),
        'ABORTED',
      );
      assert.deepEqual(await stays, expected);
      assert.deepEqual(await late, expected);
      await cancelled;
    },
  },
  {
    name: 'a request that loses the device every time is given up, and no other',
    anyBatch: true,
    async run(open) {
      await using mortal = await MortalModel.open(open, { sequences: 2 });
      const expected = await mortal.ids(promptOf(5, 1));
      mortal.model.reset();
      mortal.onStep = (_, rows) => rows > 10 && mortal.lose();
      const good = mortal.ids(promptOf(5, 1));
      await rejects(mortal.ids(promptOf(30, 2)), 'DEVICE_NOT_RESTORED');
      assert.deepEqual(await good, expected);
      assert.equal(mortal.opened, 4);
    },
  },
  {
    name: 'disposal does not wait for a device that does not come back',
    anyBatch: true,
    async run(open) {
      const mortal = await MortalModel.open(open);
      mortal.loseAt(2);
      const away = new Promise<void>((resolve) => {
        mortal.opening = async () => {
          resolve();
          throw new Error('not yet');
        };
      });
      const waiting = rejects(mortal.ids(promptOf(5, 1)), 'DISPOSED');
      await away;
      await mortal[Symbol.asyncDispose]();
      await waiting;
    },
  },
  {
    name: 'a device that nobody can open again fails what runs',
    anyBatch: true,
    async run(open) {
      await using mortal = await MortalModel.open(open, { once: true });
      mortal.loseAt(2);
      await rejects(mortal.ids(promptOf(5, 1)), 'DEVICE_LOST');
      await rejects(mortal.ids(promptOf(5, 1)), 'DEVICE_LOST');
    },
  },
];
