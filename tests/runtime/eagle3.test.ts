import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Device } from '../../src/device/index.ts';
import type { GenerateOptions } from '../../src/engine/generate-options.ts';
import { LanguageModel, type ModelOptions, type ModelSetup } from '../../src/engine/language-model.ts';
import type { GgufFile } from '../../src/gguf/index.ts';
import type { GenerationEnd } from '../../src/runtime/sequence.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { openCpu } from '../../src/node/open-cpu.ts';
import { type Eagle3Options, eagle3Model } from '../support/eagle3-model.ts';
import { type PlainCache, plainLayer, PlainTensors } from '../support/plain-decoder.ts';
import { emulatedTests, withDevice } from '../support/hip-cuda/emulator.ts';
import { NO_SOFTWARE_GPU, openSoftwareGpu } from '../support/software-gpu.ts';
import { TINY, tinyModel } from '../support/tiny-model.ts';

/** Shares the model's embedding and output. */
const SHARING: Eagle3Options = { width: TINY.width, heads: 4, kvHeads: 2, features: [0, 1, 2] };

/** Ids that texts may have, so that a draft is right now and then. */
const ALLOWED: readonly number[] = [20, 21, 22];

/** Another width, a vocabulary of its own, and all norms. */
const OWN: Eagle3Options = {
  width: 32,
  heads: 4,
  kvHeads: 1,
  features: [1, 2, 3],
  ids: [200, 22, 9, 20, 21, 57],
  normed: true,
};

const FEW = new Map(
  Array.from({ length: TINY.vocabulary }, (_, id) => id)
    .filter((id) => !ALLOWED.includes(id))
    .map((id) => [id, Number.NEGATIVE_INFINITY]),
);

const PROMPTS = [5, 40].map((length) => Array.from({ length }, (_, i) => 3 + ((37 * i) % 200)));
const GUESSES = 3;
const FIXED: ModelOptions = { speculation: GUESSES, runtime: { adaptsDrafts: false } };

async function partsOf(
  of?: Eagle3Options,
  open: () => Promise<Device> = () => openCpu({ threads: 1 }),
): Promise<ModelSetup> {
  const parts = { gguf: await tinyModel(), device: await open(), architectures: ALL_ARCHITECTURES };
  return of ? { ...parts, draft: { gguf: await eagle3Model(of) } } : parts;
}

async function say(model: LanguageModel, prompt: readonly number[], options: GenerateOptions = {}) {
  const stream = model.generate(prompt, {
    temperature: 0,
    maxTokens: 40,
    ignoreEnd: true,
    logitBias: FEW,
    ...options,
  });
  const ids: number[] = [];
  for await (const { token } of stream) if (token) ids.push(token.id);
  return { ids, end: stream.end };
}

async function said(
  of: Eagle3Options | undefined,
  options: ModelOptions = {},
  on: { readonly open?: () => Promise<Device>; readonly maxTokens?: number } = {},
) {
  const { open, maxTokens = 40 } = on;
  const parts = await partsOf(of, open);
  const model = await LanguageModel.open({ ...parts, sharesDevice: true }, { sequences: 2, ...options });
  const texts = await Promise.all(PROMPTS.map((prompt) => say(model, prompt, { maxTokens })));
  await model.dispose();
  assert.equal(parts.device.liveObjects(), 0);
  if (!open) await parts.device[Symbol.asyncDispose]();
  return texts;
}

/** The drafter and the first layers of its model, in plain doubles. */
class PlainDrafter {
  readonly #caches: PlainCache[] = Array.from({ length: TINY.layers }, () => ({ keys: [], values: [] }));
  readonly #own: PlainCache = { keys: [], values: [] };
  readonly #features: number[][] = [];

  constructor(
    readonly of: Eagle3Options,
    readonly model: PlainTensors,
    readonly drafter: PlainTensors,
  ) {}

  static async open(of: Eagle3Options): Promise<PlainDrafter> {
    await using model = await tinyModel();
    await using drafter = await eagle3Model(of);
    return new PlainDrafter(of, await PlainTensors.of(model), await PlainTensors.of(drafter));
  }

  /** What follows the ids, as the drafter says: the best of the allowed ones. */
  drafts(ids: readonly number[], count: number): number[] {
    while (this.#features.length < ids.length - 1) {
      const position = this.#features.length;
      this.#features.push(this.#read(ids[position] as number, position));
    }
    let hidden: readonly number[] = [];
    for (let at = 0; at < ids.length - 1; at++)
      hidden = this.#predict(ids[at + 1] as number, this.#fused(this.#features[at] as number[]), at);
    const drafts: number[] = [];
    while (drafts.length < count) {
      const best = this.#best(hidden);
      drafts.push(best);
      hidden = this.#predict(best, hidden, ids.length - 2 + drafts.length);
    }
    return drafts;
  }

  /** The inputs of the layers that the drafter reads, at a position. */
  #read(id: number, position: number): number[] {
    let x: readonly number[] = this.model.row('token_embd', id, TINY.width);
    const inputs = [x];
    for (const [layer, cache] of this.#caches.entries()) {
      const prefix = `blk.${layer}.`;
      const read = this.model.norm(`${prefix}attn_norm`, x);
      x = plainLayer(this.model, { prefix, read, x, position }, cache, { ...TINY, base: 10_000 });
      inputs.push(x);
    }
    return this.of.features.flatMap((layer) => [...(inputs[layer] ?? [])]);
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

/** What the counts of a text with such drafts are. */
function expectedCounts(drafter: PlainDrafter, prompt: readonly number[], text: readonly number[]) {
  const counts = {
    proposedTokens: 0,
    acceptedTokens: 0,
    draftedSteps: 0,
    acceptedByPosition: [] as number[],
  };
  for (let known = 1; known < text.length; known++) {
    const most = Math.min(GUESSES, text.length - known - 1);
    const drafts = drafter.drafts([...prompt, ...text.slice(0, known)], most);
    counts.proposedTokens += drafts.length;
    if (drafts.length > 0) counts.draftedSteps++;
    for (let at = 0; at < drafts.length && drafts[at] === text[known]; at++, known++) {
      counts.acceptedTokens++;
      counts.acceptedByPosition[at] = (counts.acceptedByPosition[at] ?? 0) + 1;
    }
  }
  return counts;
}

function countsOf({ proposedTokens, acceptedTokens, draftedSteps, acceptedByPosition }: GenerationEnd) {
  return { proposedTokens, acceptedTokens, draftedSteps, acceptedByPosition: [...acceptedByPosition] };
}

for (const [name, of] of Object.entries({ 'shared tables': SHARING, 'tables of its own': OWN })) {
  test(`EAGLE-3 with ${name} proposes what its formula says, and no token changes`, async () => {
    const plain = await said(undefined);
    const drafted = await said(of, FIXED);
    for (const [i, { ids, end }] of drafted.entries()) {
      assert.deepEqual(ids, plain[i]?.ids);
      const expected = expectedCounts(await PlainDrafter.open(of), PROMPTS[i] ?? [], ids);
      assert.deepEqual(countsOf(end), expected);
      assert.ok(end.acceptedTokens > 2 && end.acceptedTokens < end.proposedTokens);
    }
    const adapted = await said(of, { speculation: GUESSES });
    assert.deepEqual(
      adapted.map(({ ids }) => ids),
      plain.map(({ ids }) => ids),
    );
  });
}

/** A GPU gives the texts and counts that the CPU device gives; plans of one capacity compute all rows alike. */
async function isTheSame(open: () => Promise<Device>): Promise<void> {
  const options = { ...FIXED, context: 64, deterministic: true, cacheType: 'f32' } as const;
  const expected = await said(OWN, options, { maxTokens: 12 });
  const found = await said(OWN, options, { open, maxTokens: 12 });
  const seen = (texts: typeof found) => texts.map(({ ids, end }) => ({ ids, ...countsOf(end) }));
  assert.deepEqual(seen(found), seen(expected));
}

const emulated = await emulatedTests('gfx1100');

test('EAGLE-3 drafts under WebGPU', { skip: NO_SOFTWARE_GPU }, () => isTheSame(openSoftwareGpu));

emulated('EAGLE-3 drafts on an emulated GPU', async (emulator) => {
  await withDevice(emulator, (device) => isTheSame(() => Promise.resolve(device)));
});

test('a drafter of another model, of another kind, or with more than is used is refused, and nothing is left open', async () => {
  const files: readonly (readonly [Eagle3Options, string])[] = [
    [{ ...SHARING, architecture: 'dflash' }, 'DRAFT_UNSUPPORTED'],
    [{ ...SHARING, targetWidth: 48 }, 'DRAFT_UNSUPPORTED'],
    [{ ...SHARING, features: [0, 1, 4] }, 'DRAFT_UNSUPPORTED'],
    [{ ...SHARING, width: 32 }, 'DRAFT_UNSUPPORTED'],
    [{ ...SHARING, features: [0, 1] }, 'MODEL_CONFIG'],
    [{ ...OWN, ids: [1, 2, 2] }, 'DRAFT_VOCABULARY'],
    [{ ...OWN, ids: [1, TINY.vocabulary] }, 'DRAFT_VOCABULARY'],
    [{ ...OWN, foreign: true }, 'MODEL_UNREAD'],
  ];
  for (const [of, code] of files) {
    const parts = await partsOf(of);
    const source = (parts.draft as { gguf: GgufFile }).gguf;
    await assert.rejects(LanguageModel.open(parts, { speculation: 2 }), { code }, JSON.stringify(of));
    assert.equal(parts.device.liveObjects(), 0);
    await assert.rejects(source.tensors[0]?.source.read(0, new Uint8Array(1)) ?? Promise.resolve(), {
      code: 'DISPOSED',
    });
    await parts.device[Symbol.asyncDispose]();
    await parts.gguf.dispose();
  }
  const own = await openCpu({ threads: 1 });
  const parts = await partsOf();
  await using _device = parts.device;
  await using _file = parts.gguf;
  const draft = { gguf: await eagle3Model(SHARING), device: own };
  await assert.rejects(LanguageModel.open({ ...parts, draft }), { code: 'DRAFT_UNSUPPORTED' });
});
