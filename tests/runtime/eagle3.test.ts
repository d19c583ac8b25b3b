import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LanguageModel, type ModelOptions } from '../../src/engine/language-model.ts';
import { openCpu } from '../../src/node/open-cpu.ts';
import {
  ALLOWED,
  countsOf,
  draftedParts,
  draftedTexts,
  expectedCounts,
  giveTheSame,
  PROMPTS,
  refusesDrafter,
} from '../support/drafted-texts.ts';
import { type Eagle3Options, eagle3Model } from '../support/eagle3-model.ts';
import { type PlainCache, PlainInputs, plainLayer, PlainTensors } from '../support/plain-decoder.ts';
import { emulatedTests, withDevice } from '../support/hip-cuda/emulator.ts';
import { NO_SOFTWARE_GPU, openSoftwareGpu } from '../support/software-gpu.ts';
import { TINY, tinyModel } from '../support/tiny-model.ts';

/** Shares the model's embedding and output. */
const SHARING: Eagle3Options = { width: TINY.width, heads: 4, kvHeads: 2, features: [0, 1, 2] };

/** Another width, a vocabulary of its own, and all norms. */
const OWN: Eagle3Options = {
  width: 32,
  heads: 4,
  kvHeads: 1,
  features: [1, 2, 3],
  ids: [200, 22, 9, 20, 21, 57],
  normed: true,
};

const GUESSES = 3;
const FIXED: ModelOptions = { speculation: GUESSES, runtime: { adaptsDrafts: false } };

const drafterOf = (of: Eagle3Options) => () => eagle3Model(of);

/** The drafter and the first layers of its model, in plain doubles. */
class PlainDrafter {
  readonly #own: PlainCache = { keys: [], values: [] };
  readonly #inputs: PlainInputs;

  constructor(
    readonly of: Eagle3Options,
    readonly model: PlainTensors,
    readonly drafter: PlainTensors,
  ) {
    this.#inputs = new PlainInputs(model, TINY, of.features);
  }

  static async open(of: Eagle3Options): Promise<PlainDrafter> {
    await using model = await tinyModel();
    await using drafter = await eagle3Model(of);
    return new PlainDrafter(of, await PlainTensors.of(model), await PlainTensors.of(drafter));
  }

  /** What follows the ids, as the drafter says: the best of the allowed ones. */
  drafts(ids: readonly number[], count: number): number[] {
    let hidden: readonly number[] = [];
    for (const [at, features] of this.#inputs.at(ids.slice(0, -1)).entries())
      hidden = this.#predict(ids[at + 1] as number, this.#fused(features), at);
    const drafts: number[] = [];
    while (drafts.length < count) {
      const best = this.#best(hidden);
      drafts.push(best);
      hidden = this.#predict(best, hidden, ids.length - 2 + drafts.length);
    }
    return drafts;
  }

  #fused(features: readonly number[]): readonly number[] {
    return this.drafter.product(
      'fc',
      this.of.normed ? this.drafter.norm('enc.output_norm', features) : features,
    );
  }

  #predict(id: number, carried: readonly number[], position: number): readonly number[] {
    const { width, heads, kvHeads } = this.of;
    const embedding = this.of.ids ? this.drafter : this.model;
    const token = this.drafter.norm('blk.0.attn_norm', embedding.row('token_embd', id, width));
    const result = this.drafter.norm('blk.0.attn_norm_2', carried);
    const x = this.of.normed ? result : carried;
    const row = { prefix: 'blk.0.', read: [...token, ...result], x, position };
    return plainLayer(this.drafter, row, this.#own, { heads, kvHeads, base: 500 });
  }

  #best(hidden: readonly number[]): number {
    const read = this.drafter.norm('output_norm', hidden);
    const { ids } = this.of;
    const logits = ids ? this.drafter.product('output', read) : this.model.product('token_embd', read);
    const of = (id: number) => logits[ids ? ids.indexOf(id) : id] ?? Number.NEGATIVE_INFINITY;
    return ALLOWED.toSorted((a, b) => of(b) - of(a))[0] as number;
  }
}

for (const [name, of] of Object.entries({ 'shared tables': SHARING, 'tables of its own': OWN })) {
  test(`EAGLE-3 with ${name} proposes what its formula says, and no token changes`, async () => {
    const plain = await draftedTexts(undefined);
    const drafted = await draftedTexts(drafterOf(of), FIXED);
    for (const [i, { ids, end }] of drafted.entries()) {
      assert.deepEqual(ids, plain[i]?.ids);
      const expected = expectedCounts(await PlainDrafter.open(of), {
        prompt: PROMPTS[i] ?? [],
        text: ids,
        guesses: GUESSES,
      });
      assert.deepEqual(countsOf(end), expected);
      assert.ok(end.acceptedTokens > 2 && end.acceptedTokens < end.proposedTokens);
    }
    const adapted = await draftedTexts(drafterOf(of), { speculation: GUESSES });
    assert.deepEqual(
      adapted.map(({ ids }) => ids),
      plain.map(({ ids }) => ids),
    );
  });
}

const emulated = await emulatedTests('gfx1100');

test('EAGLE-3 drafts under WebGPU', { skip: NO_SOFTWARE_GPU }, () =>
  giveTheSame(drafterOf(OWN), { open: openSoftwareGpu, speculation: GUESSES }),
);

emulated('EAGLE-3 drafts on an emulated GPU', async (emulator) => {
  await withDevice(emulator, (device) =>
    giveTheSame(drafterOf(OWN), { open: () => Promise.resolve(device), speculation: GUESSES }),
  );
});

test('a drafter of another model, or with more than is used is refused, and nothing is left open', async () => {
  const files: readonly (readonly [Eagle3Options, string])[] = [
    [{ ...SHARING, targetWidth: 48 }, 'DRAFT_UNSUPPORTED'],
    [{ ...SHARING, features: [0, 1, 4] }, 'DRAFT_UNSUPPORTED'],
    [{ ...SHARING, width: 32 }, 'DRAFT_UNSUPPORTED'],
    [{ ...SHARING, features: [0, 1] }, 'MODEL_CONFIG'],
    [{ ...OWN, ids: [1, 2, 2] }, 'DRAFT_VOCABULARY'],
    [{ ...OWN, ids: [1, TINY.vocabulary] }, 'DRAFT_VOCABULARY'],
    [{ ...OWN, foreign: true }, 'MODEL_UNREAD'],
  ];
  for (const [of, code] of files) await refusesDrafter(drafterOf(of), { speculation: 2 }, code);
  const own = await openCpu({ threads: 1 });
  const parts = await draftedParts();
  await using _device = parts.device;
  await using _file = parts.gguf;
  const draft = { gguf: await eagle3Model(SHARING), device: own };
  await assert.rejects(LanguageModel.open({ ...parts, draft }), { code: 'DRAFT_UNSUPPORTED' });
});
