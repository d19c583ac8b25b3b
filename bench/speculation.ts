// What draft tokens gain at a stated acceptance. The models' own predictors and DFlash drafters know the next token except
// for noise of a stated size. Runs whose drafts are all right and all wrong tell what a step with drafts costs beside one without, and what
// of that each further token costs that it gives; from these, acceptance predicts the speed of the others. The last figure is
// that of drafts whose number adapts. node dist/bench/speculation.js [device] [draft tokens] [tokens] [one of the models]
import { loadavg } from 'node:os';
import { LanguageModel } from '../src/engine/language-model.ts';
import type { GenerationEnd } from '../src/runtime/sequence.ts';
import { ALL_ARCHITECTURES } from '../src/model/architectures/index.ts';
import { openDevice } from '../src/node/devices.ts';
import { blindDrafter, type PredictingOptions, predictingModel } from '../tests/support/predicting-model.ts';

/** No noise, and so much that every draft is wrong; then those in between. */
const NOISES: readonly number[] = [0, 50, 0.02, 0.05, 0.1, 0.2, 0.4, 0.8];
const ROUNDS = 9;
const SIZES = { width: 256, layers: 5, heads: 4, kvHeads: 2, hidden: 768, vocabulary: 2048, context: 1024 };
const MIXTURE = { experts: 8, chosenExperts: 2, expertHidden: 256 };
const ROUTERS = ['blk.1.ffn_gate_inp.weight', 'blk.2.ffn_gate_inp.weight'];

const MODELS: Readonly<Record<string, { architecture: string } & PredictingOptions>> = {
  dense: { architecture: 'mimo2', sizes: SIZES, variant: { without: ROUTERS } },
  mixture: { architecture: 'glm4moe', sizes: { ...SIZES, ...MIXTURE } },
  hybrid: { architecture: 'qwen35', sizes: SIZES },
};

/** Behind the names of those models whose drafts are a DFlash drafter's. */
const DFLASH = ' with DFlash';
const KINDS: readonly string[] = Object.keys(MODELS).flatMap((kind) => [kind, kind + DFLASH]);

/** A text and its counts, and the seconds from its first token to its last. */
interface Run extends Omit<GenerationEnd, 'generateSeconds'> {
  readonly ids: readonly number[];
  readonly seconds: number;
}

/** Now: on the CPU device, the seconds in which this process has computed, because others use the machine. */
function now(): number {
  const { user, system } = process.cpuUsage();
  return device === 'cpu' ? (user + system) / 1e6 : performance.now() / 1e3;
}

async function say(model: LanguageModel, tokens: number, speculation: number): Promise<Run> {
  const prompt = Array.from({ length: 16 }, (_, at) => 3 + 11 * at);
  const options = { temperature: 0.8, seed: 5, maxTokens: tokens, ignoreEnd: true, speculation };
  const stream = model.generate(prompt, options);
  const ids: number[] = [];
  let begin = 0;
  for await (const { token } of stream) {
    if (ids.length === 0) begin = now();
    if (token) ids.push(token.id);
  }
  return { ...stream.end, ids, seconds: now() - begin };
}

/** A text without drafts, and the same text with them. */
type Pair = readonly [plain: Run, drafted: Run];

/** Pairs of each model, all models in turns: what is compared was measured within a second. */
async function rounds(models: readonly LanguageModel[], tokens: number, guesses: number): Promise<Pair[][]> {
  const found: Pair[][] = [];
  // The first round records the steps.
  for (let round = 0; round <= ROUNDS; round++) {
    const pairs: Pair[] = [];
    for (const model of models) {
      model.reset();
      const plain = await say(model, tokens, 0);
      model.reset();
      pairs.push([plain, await say(model, tokens, guesses)]);
    }
    if (round > 0) found.push(pairs);
  }
  return found;
}

/** The median over the rounds. */
function median(of: readonly Pair[][], figure: (round: readonly Pair[]) => number): number {
  const sorted = of.map(figure).toSorted((a, b) => a - b);
  return sorted[sorted.length >> 1] as number;
}

async function open(
  kind: string,
  of: { noise: number; guesses: number; adapts: boolean },
): Promise<LanguageModel> {
  const { architecture, ...options } = MODELS[kind.replace(DFLASH, '')] as (typeof MODELS)[string];
  const isDrafted = kind.endsWith(DFLASH);
  const gguf = await predictingModel(architecture, { ...options, noise: of.noise, isBlind: isDrafted });
  const draft = isDrafted ? { gguf: await blindDrafter(SIZES, of.noise) } : undefined;
  const on = await openDevice({ device, threads: 1 });
  const drafts = {
    speculation: of.guesses,
    runtime: { adaptsDrafts: of.adapts },
    deterministic: true,
    batch: 16,
  };
  const parts = { gguf, draft, device: on, architectures: ALL_ARCHITECTURES };
  return LanguageModel.open(parts, { ...drafts, ...(!isDrafted && { predictor: true }) });
}

/** Steps of a run after its prompt. */
function stepsOf({ generatedTokens, acceptedTokens }: Run): number {
  return generatedTokens - 1 - acceptedTokens;
}

/** Tokens that each step with drafts gave. */
function tokensOf([, drafted]: Pair): number {
  return (drafted.generatedTokens - 1) / stepsOf(drafted);
}

function gainOf([plain, drafted]: Pair): number {
  return plain.seconds / drafted.seconds;
}

/** What a step with drafts cost beside one without. */
function costOf(pair: Pair): number {
  return tokensOf(pair) / gainOf(pair);
}

/** The gain at an acceptance, by the cost of a step on the line through drafts that are all right and all wrong. */
function predictedGain(pair: Pair, right: Pair, wrong: Pair): number {
  const rise = (costOf(right) - costOf(wrong)) / (tokensOf(right) - tokensOf(wrong));
  return tokensOf(pair) / (costOf(wrong) + rise * (tokensOf(pair) - tokensOf(wrong)));
}

const [device = 'cpu', guesses = '3', tokens = '80', only = ''] = process.argv.slice(2);
for (const kind of KINDS.filter((name) => only === '' || name === only)) {
  const measured = async (adapts: boolean) => {
    const models: LanguageModel[] = [];
    for (const noise of NOISES) models.push(await open(kind, { noise, guesses: +guesses, adapts }));
    const pairs = await rounds(models, +tokens, +guesses);
    for (const model of models) await model[Symbol.asyncDispose]();
    return pairs;
  };
  const fixed = await measured(false);
  const adapted = await measured(true);
  for (const [at, noise] of NOISES.entries()) {
    const of = (round: readonly Pair[]) => round[at] as Pair;
    const predicted = (round: readonly Pair[]) =>
      predictedGain(of(round), round[0] as Pair, round[1] as Pair);
    const pair = of(fixed[0] as Pair[]);
    const texts = [...fixed, ...adapted].flatMap(of).map(({ ids }) => ids.join());
    const facts = [
      `${kind} on ${device}, noise ${noise}`,
      `${((100 * pair[1].acceptedTokens) / Math.max(1, pair[1].proposedTokens)).toFixed(0)} % accepted`,
      `${tokensOf(pair).toFixed(2)} tokens a step`,
      `${median(fixed, (round) => gainOf(of(round))).toFixed(2)} x, predicted ${median(fixed, predicted).toFixed(2)} x`,
      `(${median(fixed, (round) => gainOf(of(round)) / predicted(round)).toFixed(2)})`,
      `adapted ${median(adapted, (round) => gainOf(of(round))).toFixed(2)} x`,
      `a step with drafts costs ${median(fixed, (round) => costOf(of(round))).toFixed(2)} of one without`,
      new Set(texts).size === 1 ? 'same text' : 'ANOTHER TEXT',
      `load ${(loadavg()[0] ?? 0).toFixed(1)}`,
    ];
    process.stdout.write(`${facts.join(', ')}\n`);
  }
}
