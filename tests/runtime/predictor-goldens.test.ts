import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import type { Device } from '../../src/device/index.ts';
import { LanguageModel } from '../../src/engine/language-model.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { count } from '../../src/model/synthetic-family.ts';
import { PredictorProposer } from '../../src/runtime/predictor-proposer.ts';
import { openCpu } from '../../src/node/open-cpu.ts';
import { type AssistantOptions, assistantModel } from '../support/assistant-model.ts';
import { refusesDrafter } from '../support/drafted-texts.ts';
import { emulatedTests, withDevice } from '../support/hip-cuda/emulator.ts';
import {
  modelOf,
  predictedTexts,
  PREDICTOR_CASES,
  PREDICTOR_GOLDEN,
  type PredictorGolden,
} from '../support/predictor-goldens.ts';
import { NO_SOFTWARE_GPU, openSoftwareGpu } from '../support/software-gpu.ts';

const goldens = (await readFile(PREDICTOR_GOLDEN, 'utf8'))
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as PredictorGolden);

type Case = (typeof PREDICTOR_CASES)[string];

/** Drafts behind so many ids of a text. */
interface Proposal {
  readonly known: number;
  readonly drafts: readonly number[];
}

/** What is proposed while `work` runs. */
async function proposalsDuring(work: () => Promise<void>): Promise<Proposal[]> {
  const found: Proposal[] = [];
  const { follow } = PredictorProposer.prototype;
  PredictorProposer.prototype.follow = function (this: PredictorProposer, sequence) {
    const own = follow.call(this, sequence);
    const propose: typeof own.propose = async (most) => {
      const known = sequence.ids.length;
      const drafts = await own.propose(most);
      if (drafts.length > 0) found.push({ known, drafts: [...drafts] });
      return drafts;
    };
    return { ...own, propose };
  };
  try {
    await work();
  } finally {
    PredictorProposer.prototype.follow = follow;
  }
  return found;
}

/** The texts are the golden's, and all drafts behind them llama.cpp's, up to so many tokens. */
async function guessesAlike(
  name: string,
  of: Case,
  { most = Infinity, ...on }: { readonly most?: number; readonly open?: () => Promise<Device> } = {},
): Promise<void> {
  const own = goldens.filter((golden) => golden.name === name);
  assert.equal(own.length, 2);
  const said = (own[0]?.ids.length ?? 0) - (own[0]?.prompt ?? 0);
  const maxTokens = Math.min(most, said);
  const proposals = await proposalsDuring(async () => {
    const texts = await predictedTexts(of, { drafts: true, maxTokens, ...on });
    for (const [index, { ids, prompt }] of own.entries())
      assert.deepEqual(texts[index], ids.slice(prompt, prompt + maxTokens));
  });
  for (const { known, drafts } of proposals) {
    // The second text is longer from its first token on.
    const golden = own.findLast(({ from }) => known >= from) as PredictorGolden;
    assert.deepEqual(drafts, golden.drafts[known - golden.from]?.slice(0, drafts.length), `behind ${known}`);
  }
  assert.ok(proposals.length > maxTokens / 2, `${proposals.length} proposals`);
}

for (const [name, of] of Object.entries(PREDICTOR_CASES)) {
  test(`${name} predicts what llama.cpp predicts, and no token changes`, () => guessesAlike(name, of));
}

const ASSISTED = 'gemma4-assistant';
const emulated = await emulatedTests('gfx1100');

test('an assistant predicts under WebGPU', { skip: NO_SOFTWARE_GPU }, () =>
  guessesAlike(ASSISTED, PREDICTOR_CASES[ASSISTED] as Case, { most: 8, open: openSoftwareGpu }),
);

emulated('an assistant predicts on an emulated GPU', async (emulator) => {
  await withDevice(emulator, (device) =>
    guessesAlike(ASSISTED, PREDICTOR_CASES[ASSISTED] as Case, {
      most: 8,
      open: () => Promise.resolve(device),
    }),
  );
});

test('an assistant of another model, or with more than is used, is refused', async () => {
  await refusesDrafter(() => assistantModel(), { speculation: 2 }, 'DRAFT_UNSUPPORTED');
  const files: readonly (readonly [AssistantOptions, string])[] = [
    [{ metadata: { embedding_length_out: count(48) } }, 'DRAFT_UNSUPPORTED'],
    [
      { metadata: { 'attention.key_length': count(16), 'attention.value_length': count(16) } },
      'MODEL_CONFIG',
    ],
    [{ metadata: { 'attention.sliding_window': count(4) } }, 'MODEL_CONFIG'],
    [{ metadata: { nextn_predict_layers: count(1) } }, 'MODEL_CONFIG'],
    [{ foreign: 'blk.0.attn_k.weight' }, 'MODEL_UNREAD'],
  ];
  for (const [of, code] of files) {
    const gguf = await modelOf(PREDICTOR_CASES[ASSISTED] as Case);
    const device = await openCpu({ threads: 1 });
    const parts = {
      gguf,
      device,
      architectures: ALL_ARCHITECTURES,
      draft: { gguf: await assistantModel(of) },
    };
    await assert.rejects(LanguageModel.open(parts, { speculation: 2 }), { code });
    assert.equal(device.liveObjects(), 0);
    await device[Symbol.asyncDispose]();
    await gguf.dispose();
  }
});
