// What draft tokens gain at a stated acceptance. The models' own predictors know the next token except for noise of a
// stated size; a run without noise shows the time of a step with its drafts, from which acceptance predicts the speed
// of the others. node dist/bench/speculation.js [device] [draft tokens] [tokens]
import { LanguageModel } from '../src/engine/language-model.ts';
import { ALL_ARCHITECTURES } from '../src/model/architectures/index.ts';
import { openDevice } from '../src/node/devices.ts';
import { type PredictingOptions, predictingModel } from '../tests/support/predicting-model.ts';

const NOISES: readonly number[] = [0, 0.1, 0.2, 0.4, 0.8];
const ROUNDS = 3;
const SIZES = { width: 256, layers: 5, heads: 4, kvHeads: 2, hidden: 768, vocabulary: 2048, context: 1024 };
const MIXTURE = { experts: 8, chosenExperts: 2, expertHidden: 256 };
const ROUTERS = ['blk.1.ffn_gate_inp.weight', 'blk.2.ffn_gate_inp.weight'];

const MODELS: Readonly<Record<string, { architecture: string } & PredictingOptions>> = {
  dense: { architecture: 'mimo2', sizes: SIZES, variant: { without: ROUTERS } },
  mixture: { architecture: 'glm4moe', sizes: { ...SIZES, ...MIXTURE } },
  hybrid: { architecture: 'qwen35', sizes: SIZES },
};

/** A text with drafts and without them. */
interface Run {
  readonly ids: readonly number[];
  readonly msPerToken: number;
  /** Tokens that a step yielded, on average. */
  readonly tokensPerStep: number;
  readonly acceptance: number;
}

async function run(model: LanguageModel, maxTokens: number, guesses: number): Promise<Run> {
  model.reset();
  const prompt = Array.from({ length: 16 }, (_, at) => 3 + 11 * at);
  const options = { temperature: 0.8, seed: 5, maxTokens, ignoreEnd: true, speculation: guesses };
  const stream = model.generate(prompt, options);
  const ids: number[] = [];
  for await (const { token } of stream) if (token) ids.push(token.id);
  const { generateSeconds, proposedTokens, acceptedTokens } = stream.end;
  return {
    ids,
    msPerToken: (1000 * generateSeconds) / (maxTokens - 1),
    tokensPerStep: maxTokens / Math.max(1, maxTokens - acceptedTokens),
    acceptance: acceptedTokens / Math.max(1, proposedTokens),
  };
}

/** The run of the median speed. */
function median(runs: readonly Run[]): Run {
  const sorted = runs.toSorted((a, b) => a.msPerToken - b.msPerToken);
  return sorted[sorted.length >> 1] as Run;
}

/** Speeds of one model at one noise; the two kinds of runs alternate. */
async function measure(device: string, kind: string, of: { noise: number; guesses: number; tokens: number }) {
  const { architecture, ...options } = MODELS[kind] as (typeof MODELS)[string];
  const gguf = await predictingModel(architecture, { ...options, noise: of.noise });
  const parts = { gguf, device: await openDevice({ device }), architectures: ALL_ARCHITECTURES };
  const settings = { predictor: true, speculation: of.guesses, deterministic: true, batch: 16 } as const;
  await using model = await LanguageModel.open(parts, settings);
  const [plain, drafted]: [Run[], Run[]] = [[], []];
  for (let round = 0; round <= ROUNDS; round++) {
    const pair = [await run(model, of.tokens, 0), await run(model, of.tokens, of.guesses)] as const;
    // The first round records the steps.
    if (round === 0) continue;
    plain.push(pair[0]);
    drafted.push(pair[1]);
  }
  const isSame = drafted.every(({ ids }, i) => ids.join() === plain[i]?.ids.join());
  return { plain: median(plain), drafted: median(drafted), isSame };
}

const [device = 'cpu', guesses = '3', tokens = '160'] = process.argv.slice(2);
for (const kind of Object.keys(MODELS)) {
  let stepRatio: number | undefined;
  for (const noise of NOISES) {
    const of = { noise, guesses: Number(guesses), tokens: Number(tokens) };
    const { plain, drafted, isSame } = await measure(device, kind, of);
    const gain = plain.msPerToken / drafted.msPerToken;
    stepRatio ??= drafted.tokensPerStep / gain;
    const predicted = drafted.tokensPerStep / stepRatio;
    const facts = [
      `${kind} on ${device}, noise ${noise}`,
      `${(100 * drafted.acceptance).toFixed(0)} % accepted`,
      `${drafted.tokensPerStep.toFixed(2)} tokens a step`,
      `${gain.toFixed(2)} x, predicted ${predicted.toFixed(2)} x (${(gain / predicted).toFixed(2)})`,
      isSame ? 'same text' : 'ANOTHER TEXT',
    ];
    process.stdout.write(`${facts.join(', ')}\n`);
  }
}
