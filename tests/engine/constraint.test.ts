import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openReferenceDevice } from '../../src/devices/reference/index.ts';
import { LanguageModel } from '../../src/engine/language-model.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { openCpu } from '../../src/node/open-cpu.ts';
import type { TokenConstraint } from '../../src/text/index.ts';
import { tinyModel } from '../support/tiny-model.ts';

/** Lets through only what `allows` names, position by position; complete after the last one. */
class Script implements TokenConstraint {
  readonly said: number[] = [];
  disposed = false;
  readonly #allows: readonly (readonly number[])[];
  readonly #delay: number;

  constructor(allows: readonly (readonly number[])[], delay = 0) {
    this.#allows = allows;
    this.#delay = delay;
  }

  async fill(mask: Int32Array): Promise<void> {
    if (this.#delay > 0) await new Promise((resolve) => setTimeout(resolve, this.#delay));
    mask.fill(0);
    for (const id of this.#allows[this.said.length] ?? [])
      mask[id >> 5] = (mask[id >> 5] as number) | (1 << (id & 31));
  }

  accept(id: number): void {
    assert.ok(this.#allows[this.said.length]?.includes(id), `${id} is allowed`);
    this.said.push(id);
  }

  get isComplete(): boolean {
    return this.said.length === this.#allows.length;
  }

  [Symbol.dispose](): void {
    this.disposed = true;
  }
}

const openers = { reference: async () => openReferenceDevice(), cpu: () => openCpu({ threads: 2 }) };

for (const [name, open] of Object.entries(openers)) {
  test(`on ${name}, a constrained text takes only what it may, and its neighbours are unharmed`, async () => {
    const parts = { gguf: await tinyModel(), device: await open(), architectures: ALL_ARCHITECTURES };
    await using model = await LanguageModel.open(parts, { sequences: 4, batch: 16 });
    const options = { temperature: 0, maxTokens: 20, ignoreEnd: true, special: true } as const;
    const prompt = [5, 90, 200, 17];
    const alone = await model.generate(prompt, options).text();
    const allows = [[70], [71, 72], [40, 41, 42, 43], [260], [255]];
    const script = new Script(allows, 5);
    const constrained = model.generate(prompt, { ...options, constraint: script });
    const sampled = new Script(allows);
    const drawn = model.generate(prompt, { ...options, temperature: 1, seed: 3, constraint: sampled });
    const [, beside] = await Promise.all([
      constrained.text(),
      model.generate(prompt, options).text(),
      drawn.text(),
    ]);
    assert.equal(beside, alone);
    assert.equal(script.said.length, allows.length);
    assert.equal(sampled.said.length, allows.length);
    assert.deepEqual([constrained.end.reason, constrained.end.generatedTokens], ['stop', allows.length]);
    assert.deepEqual([script.disposed, sampled.disposed], [false, false], 'they stay the caller’s');
  });
}

test('a constraint that fails ends its own text alone', async () => {
  const parts = { gguf: await tinyModel(), device: openReferenceDevice(), architectures: ALL_ARCHITECTURES };
  await using model = await LanguageModel.open(parts, { sequences: 2, batch: 16 });
  const options = { temperature: 0, maxTokens: 8, ignoreEnd: true } as const;
  const rest = { isComplete: false, [Symbol.dispose]: () => undefined };
  const failing: readonly TokenConstraint[] = [
    { ...rest, fill: () => Promise.reject(new Error('no mask')), accept: () => undefined },
    {
      ...rest,
      fill: async (mask) => void mask.fill(-1),
      accept: () => {
        throw new Error('no mask');
      },
    },
  ];
  for (const constraint of failing) {
    const [failed, other] = await Promise.allSettled([
      model.generate([5, 6], { ...options, constraint }).text(),
      model.generate([5, 6], options).text(),
    ]);
    assert.equal(failed.status === 'rejected' && String(failed.reason), 'Error: no mask');
    assert.equal(other.status, 'fulfilled');
  }
});
