/** What predictors guess, held against llama.cpp's. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import type { Device } from '../../src/device/index.ts';
import { PredictorProposer } from '../../src/runtime/predictor-proposer.ts';
import {
  predictedTexts,
  PREDICTOR_CASES,
  PREDICTOR_GOLDEN,
  type PredictorGolden,
} from './predictor-goldens.ts';

const goldens = (await readFile(PREDICTOR_GOLDEN, 'utf8'))
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as PredictorGolden);

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
export async function guessesAlike(
  name: string,
  { most = Infinity, ...on }: { readonly most?: number; readonly open?: () => Promise<Device> } = {},
): Promise<void> {
  const of = PREDICTOR_CASES[name];
  assert.ok(of);
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
