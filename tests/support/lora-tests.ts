import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { type GoldenSequence, parseGolden } from '../../src/evaluate/golden.ts';
import type { LanguageModel } from '../../src/index.ts';
import { LARGEST_DIFFERENCE } from './family-fixtures.ts';
import type { GoldenDevice } from './golden-tests.ts';
import { bestOf } from './goldens.ts';
import { LORA_BASE, LORA_FILES, LORA_GOLDEN } from './lora-fixtures.ts';

/** A text of the golden, and the scales of its adapters. */
export type AdaptedGolden = GoldenSequence & { readonly adapters: Readonly<Record<string, number>> };

const OPTIONS = { sequences: 1, cacheType: 'f32', batch: 32, logitRows: 32, context: 64 } as const;

/**
 * Compares with llama.cpp's results for a model with two adapters, alone and mixed: applied at run time, and merged
 * into the weights.
 */
export function testAdapters(device: GoldenDevice): void {
  const declare = device.declare ?? test;
  declare(`adapters, alone and mixed, match their golden on ${device.name}`, async () => {
    await using model = await device.open(LORA_BASE, { ...OPTIONS, adapters: LORA_FILES });
    for (const golden of await readAdapted()) {
      await compare(model, golden, new Map(Object.entries(golden.adapters)));
    }
  });
  declare(`adapters that are added to the weights match their golden on ${device.name}`, async () => {
    const golden = (await readAdapted()).at(-1);
    assert.ok(golden && Object.keys(golden.adapters).length === 2);
    const adapters = Object.fromEntries(
      Object.entries(golden.adapters).map(([name, scale]) => [
        name,
        { location: LORA_FILES[name] ?? '', scale },
      ]),
    );
    await using model = await device.open(LORA_BASE, { ...OPTIONS, adapters, mergeAdapters: true });
    assert.equal(model.adapters.size, 0);
    await compare(model, golden, undefined);
  });
  declare(`an adapter that is added to the weights counts fully on ${device.name}`, async () => {
    const golden = (await readAdapted()).find(({ adapters }) => isOneWhole(adapters));
    const [name = ''] = Object.keys(golden?.adapters ?? {});
    const adapters = { [name]: LORA_FILES[name] ?? '' };
    await using model = await device.open(LORA_BASE, { ...OPTIONS, adapters, mergeAdapters: true });
    assert.ok(golden);
    await compare(model, golden, undefined);
  });
}

/** Compares with the same results while adapters come and go. */
export function testAdapterChanges(device: GoldenDevice): void {
  const declare = device.declare ?? test;
  declare(
    `adapters that come and go while the model is open match their golden on ${device.name}`,
    async () => {
      await using model = await device.open(LORA_BASE, { ...OPTIONS, maxAdapters: 2, maxAdapterRank: 8 });
      const goldens = await readAdapted();
      const plain = await greedyOf(model, goldens[0] as AdaptedGolden);
      assert.notDeepEqual(plain, goldens[0]?.greedy);
      const load = (name: string, scale?: number) => model.loadAdapter(name, LORA_FILES[name] ?? '', scale);
      // In the other order, so that one moves when the other goes.
      await load('second');
      await load('first');
      for (const golden of goldens) await compare(model, golden, new Map(Object.entries(golden.adapters)));
      await model.unloadAdapter('second');
      assert.deepEqual([...model.adapters], [['first', 0]]);
      const alone = goldens.find(({ adapters }) => isOneWhole(adapters));
      assert.ok(alone?.adapters.first);
      await compare(model, alone, new Map([['first', 1]]));
      await model.scaleAdapters(new Map([['first', 1]]));
      await compare(model, alone, undefined);
      await model.unloadAdapter('first');
      assert.deepEqual(await greedyOf(model, alone), plain, 'nothing is left of them');
    },
  );
}

function isOneWhole(adapters: AdaptedGolden['adapters']): boolean {
  const scales = Object.values(adapters);
  return scales.length === 1 && scales[0] === 1;
}

/** What the model continues a golden's prompt with, at each position of its answer. */
async function greedyOf(model: LanguageModel, { ids, greedy }: AdaptedGolden): Promise<number[]> {
  const best: number[] = [];
  for await (const { position, logits } of model.evaluate([...ids, ...greedy.slice(0, -1)])) {
    if (position >= ids.length - 1) best.push(bestOf(logits));
  }
  return best;
}

async function compare(
  model: LanguageModel,
  { ids, top, greedy }: AdaptedGolden,
  adapters: ReadonlyMap<string, number> | undefined,
): Promise<void> {
  const best: number[] = [];
  const all = [...ids, ...greedy.slice(0, -1)];
  for await (const { position, logits } of model.evaluate(all, 0, { adapters })) {
    if (position >= ids.length - 1) best.push(bestOf(logits));
    for (const [id, logit] of top[position] ?? []) {
      const difference = Math.abs((logits[id] ?? Number.NaN) - logit);
      assert.ok(difference < LARGEST_DIFFERENCE, `a logit differs by ${difference}`);
    }
  }
  assert.deepEqual(best, greedy);
}

/** The golden of the two adapters. */
export async function readAdapted(): Promise<AdaptedGolden[]> {
  const text = await readFile(LORA_GOLDEN, 'utf8');
  const mixtures = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Pick<AdaptedGolden, 'adapters'>);
  return parseGolden(text).map((sequence, i) => ({
    ...sequence,
    adapters: mixtures[i]?.adapters ?? {},
  }));
}
