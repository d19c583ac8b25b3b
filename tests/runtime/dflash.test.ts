import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LanguageModel, type ModelOptions } from '../../src/engine/language-model.ts';
import type { Device, MemoryRules } from '../../src/device/index.ts';
import { openReferenceDevice } from '../../src/devices/reference/index.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { openCpu, openDecoder } from '../../src/node/open-cpu.ts';
import {
  deviceMatchesGolden,
  dflashGoldens,
  hardestDflashGolden,
  matchesGolden,
} from '../support/dflash-logits.ts';
import {
  DFLASH_KINDS,
  dflashModel,
  EVERYTHING,
  SHARING,
  type DflashOptions,
  syntheticTiny,
} from '../support/dflash-model.ts';
import {
  ALLOWED,
  countsOf,
  draftedTexts,
  expectedCounts,
  giveTheSame,
  PROMPTS,
  refusesDrafter,
  say,
} from '../support/drafted-texts.ts';
import { deviceWith } from '../support/device-with.ts';
import { emulatedTests, withDevice } from '../support/hip-cuda/emulator.ts';
import { PlainDflash } from '../support/plain-dflash.ts';
import { TINY } from '../support/tiny-model.ts';

const drafterOf = (of: DflashOptions) => () => dflashModel(of);

function fixed({ block }: DflashOptions): ModelOptions {
  return { speculation: block - 1, runtime: { adaptsDrafts: false } };
}

const LAST: DflashOptions = { ...SHARING, features: [1, TINY.layers] };

for (const [name, of] of Object.entries({ ...DFLASH_KINDS, "the last layer's result": LAST })) {
  test(`DFlash with ${name} proposes what its formula says, and no token changes`, async () => {
    const plain = await draftedTexts(undefined);
    const drafted = await draftedTexts(drafterOf(of), fixed(of));
    for (const [i, { ids, end }] of drafted.entries()) {
      assert.deepEqual(ids, plain[i]?.ids);
      const drafter = await PlainDflash.open(of);
      const guesses = {
        drafts: (known: readonly number[], count: number) => drafter.drafts(known, count, ALLOWED),
      };
      const request = { prompt: PROMPTS[i] ?? [], text: ids, guesses: of.block - 1 };
      assert.deepEqual(countsOf(end), expectedCounts(guesses, request));
      assert.ok(end.acceptedTokens > 2 && end.acceptedTokens < end.proposedTokens);
    }
  });
}

test('a number of DFlash drafts that adapts, and drawn texts, change no token', async () => {
  const how = { temperature: 0.9, seed: 7 };
  const plain = await draftedTexts(undefined, {}, how);
  for (const options of [{}, { speculation: 2 }, { batch: 8 }] as const) {
    const drafted = await draftedTexts(drafterOf(SHARING), options, how);
    assert.deepEqual(
      drafted.map(({ ids }) => ids),
      plain.map(({ ids }) => ids),
    );
  }
});

/** The texts of a small model, drawn, without a drafter and with one, are the same, and some drafts are right. */
async function changesNothing(
  architecture: string,
  open: () => Promise<Device>,
  maxTokens: number,
): Promise<void> {
  const texts = [];
  for (const isDrafted of [false, true]) {
    const gguf = await syntheticTiny(architecture);
    const draft = isDrafted ? { gguf: await syntheticTiny('dflash') } : undefined;
    const decoder = await openDecoder({ threads: 1 });
    const parts = { gguf, draft, device: await open(), decoder, architectures: ALL_ARCHITECTURES };
    const fixed = { speculation: 5, runtime: { adaptsDrafts: false } };
    const options = { context: 128, sequences: 2, deterministic: true, ...(isDrafted && fixed), batch: 16 };
    await using model = await LanguageModel.open(parts, options);
    const how = { maxTokens, temperature: 0.8, seed: 3 };
    const prompts = [[5, 6, 7], Array.from({ length: 40 }, (_, i) => 3 + ((7 * i) % 58))];
    texts.push(await Promise.all(prompts.map((prompt) => say(model, prompt, how))));
  }
  const [plain = [], drafted = []] = texts;
  assert.deepEqual(
    drafted.map(({ ids }) => ids),
    plain.map(({ ids }) => ids),
  );
  for (const { end } of drafted) assert.ok(end.acceptedTokens > 1 && end.acceptedTokens < end.proposedTokens);
}

for (const architecture of ['qwen35', 'qwen3moe', 'gemma3']) {
  test(`DFlash behind ${architecture} changes no token`, () =>
    changesNothing(architecture, () => openCpu({ threads: 1 }), 40));
}

test('DFlash behind gemma4, whose values for all layers the host looks up, changes no token', async () => {
  const open = async () => {
    const cpu = await openCpu({ threads: 1 });
    const apart = { pinnedInside: () => false };
    return deviceWith(cpu, {
      memoryRules: Object.assign(Object.create(cpu.memoryRules) as MemoryRules, apart),
    });
  };
  await changesNothing('gemma4', open, 40);
});

const GOLDENS = dflashGoldens();

test("the logits of DFlash drafters are llama.cpp's, on the CPU, the reference device and by the formula", async () => {
  assert.equal(GOLDENS.length, PROMPTS.length * Object.keys(DFLASH_KINDS).length);
  await using cpu = await openCpu({ threads: 1 });
  await using reference = openReferenceDevice();
  for (const golden of GOLDENS) {
    const drafter = await PlainDflash.open(DFLASH_KINDS[golden.kind] as DflashOptions);
    const logits = drafter.logits(golden.ids, golden.rows.length);
    matchesGolden(golden, (row, id) => logits[row]?.[id] ?? Number.NaN);
    await deviceMatchesGolden(cpu, golden);
    await deviceMatchesGolden(reference, golden);
  }
});

test('DFlash drafts on the reference device', () =>
  giveTheSame(drafterOf(EVERYTHING), { open: () => Promise.resolve(openReferenceDevice()), speculation: 3 }));

const emulated = await emulatedTests('gfx1100');

emulated('DFlash drafts on an emulated GPU', async (emulator) => {
  await withDevice(emulator, async (device) => {
    await giveTheSame(drafterOf(EVERYTHING), { open: () => Promise.resolve(device), speculation: 3 });
    await deviceMatchesGolden(device, hardestDflashGolden());
  });
});

test('a DFlash drafter of another model, with more than is used, or for fewer drafts is refused', async () => {
  const files: readonly (readonly [DflashOptions, string])[] = [
    [{ ...SHARING, width: 32, heads: 2 }, 'DRAFT_UNSUPPORTED'],
    [{ ...SHARING, features: [0, 4] }, 'DRAFT_UNSUPPORTED'],
    [{ ...SHARING, mask: TINY.vocabulary }, 'DRAFT_UNSUPPORTED'],
    [{ ...SHARING, foreign: 'markov_w1.weight' }, 'DRAFT_UNSUPPORTED'],
    [{ ...SHARING, foreign: 'selector_hidden.weight' }, 'DRAFT_UNSUPPORTED'],
    [{ ...SHARING, foreign: 'fc2.weight' }, 'MODEL_UNREAD'],
    [{ ...SHARING, features: [] }, 'MODEL_CONFIG'],
    [{ ...SHARING, window: 3 }, 'MODEL_CONFIG'],
    [{ ...SHARING, block: 1 }, 'MODEL_CONFIG'],
    [{ ...EVERYTHING, sections: true }, 'MODEL_CONFIG'],
    [{ ...EVERYTHING, ids: [1, 2, 2] }, 'DRAFT_VOCABULARY'],
  ];
  for (const [of, code] of files) await refusesDrafter(drafterOf(of), {}, code);
  await refusesDrafter(drafterOf(SHARING), { speculation: SHARING.block }, 'INVALID_ARGUMENT');
  await refusesDrafter(drafterOf(SHARING), { minDraftTokens: SHARING.block }, 'INVALID_ARGUMENT');
});
