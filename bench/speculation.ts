// What draft tokens gain at a stated acceptance. The models' own predictors know the next token except for noise of a
// stated size. Without noise, runs with and without drafts, and of one and four sequences, tell what a step costs, one
// with its drafts, and a further row. From these costs, acceptance predicts the speed of the others. The last figure is
// that of drafts whose number adapts. node dist/bench/speculation.js [device] [draft tokens] [tokens] [model]
import { loadavg } from 'node:os';
import { LanguageModel } from '../src/engine/language-model.ts';
import { StepProfile } from '../src/runtime/jobs/step-profile.ts';
import type { GenerationEnd } from '../src/runtime/sequence.ts';
import { ALL_ARCHITECTURES } from '../src/model/architectures/index.ts';
import { openDevice } from '../src/node/devices.ts';
import { type PredictingOptions, predictingModel } from '../tests/support/predicting-model.ts';

const NOISES: readonly number[] = [0, 0.05, 0.1, 0.2, 0.4, 0.8];
const ROUNDS = 9;
const SIZES = { width: 256, layers: 5, heads: 4, kvHeads: 2, hidden: 768, vocabulary: 2048, context: 1024 };
const MIXTURE = { experts: 8, chosenExperts: 2, expertHidden: 256 };
const ROUTERS = ['blk.1.ffn_gate_inp.weight', 'blk.2.ffn_gate_inp.weight'];

const MODELS: Readonly<Record<string, { architecture: string } & PredictingOptions>> = {
  dense: { architecture: 'mimo2', sizes: SIZES, variant: { without: ROUTERS } },
  mixture: { architecture: 'glm4moe', sizes: { ...SIZES, ...MIXTURE } },
  hybrid: { architecture: 'qwen35', sizes: SIZES },
};

/** A way to generate: so many sequences at once, with so many draft tokens each. */
interface Way {
  readonly sequences: number;
  readonly guesses: number;
}

/** A text and its counts, of several sequences the first, and the seconds from its first token to its last. */
interface Run extends Omit<GenerationEnd, 'generateSeconds'> {
  readonly ids: readonly number[];
  readonly seconds: number;
  /** Rows of all steps after the first token. */
  readonly rows: number;
}

/** Rows of the steps so far. */
let rowsSoFar = 0;

const profile = new StepProfile({
  onNote: (note) => {
    if ('phase' in note && note.phase === 'back') rowsSoFar += note.step?.rows ?? 0;
  },
});

/** Now: on the CPU device, the seconds in which this process has computed, because others use the machine. */
function now(): number {
  const { user, system } = process.cpuUsage();
  return device === 'cpu' ? (user + system) / 1e6 : performance.now() / 1e3;
}

async function say(
  model: LanguageModel,
  tokens: number,
  { guesses, seed }: Way & { seed: number },
): Promise<Run> {
  const prompt = Array.from({ length: 16 }, (_, at) => 3 + 11 * at);
  const options = { temperature: 0.8, seed, maxTokens: tokens, ignoreEnd: true, speculation: guesses };
  const stream = model.generate(prompt, options);
  const ids: number[] = [];
  let [begin, rows] = [0, 0];
  for await (const { token } of stream) {
    if (ids.length === 0) [begin, rows] = [now(), rowsSoFar];
    if (token) ids.push(token.id);
  }
  return { ...stream.end, ids, seconds: now() - begin, rows: rowsSoFar - rows };
}

/** The first texts of all ways, round by round: what one round measures happens within a second. */
async function rounds(model: LanguageModel, tokens: number, ways: readonly Way[]): Promise<Run[][]> {
  const found: Run[][] = [];
  // The first round records the steps.
  for (let round = 0; round <= ROUNDS; round++) {
    const runs: Run[] = [];
    for (const way of ways) {
      model.reset();
      const texts = Array.from({ length: way.sequences }, (_, i) =>
        say(model, tokens, { ...way, seed: 5 + i }),
      );
      runs.push(...(await Promise.all(texts)).slice(0, 1));
    }
    if (round > 0) found.push(runs);
  }
  return found;
}

/** The median over the rounds of a ratio within each. */
function median(of: readonly Run[][], ratio: (runs: Run[]) => number): number {
  const sorted = of.map(ratio).toSorted((a, b) => a - b);
  return sorted[sorted.length >> 1] as number;
}

async function measured<T>(
  kind: string,
  of: { noise: number; guesses: number; adapts: boolean },
  work: (model: LanguageModel) => Promise<T>,
): Promise<T> {
  const { architecture, ...options } = MODELS[kind] as (typeof MODELS)[string];
  const gguf = await predictingModel(architecture, { ...options, noise: of.noise });
  const parts = { gguf, device: await openDevice({ device, threads: 1 }), architectures: ALL_ARCHITECTURES };
  const runtime = { adaptsDrafts: of.adapts };
  const drafts = { predictor: true, speculation: of.guesses, runtime };
  await using model = await LanguageModel.open(parts, {
    ...drafts,
    profile,
    sequences: 4,
    deterministic: true,
    batch: 16,
  });
  return await work(model);
}

/** Steps of a run after its prompt. */
function stepsOf({ generatedTokens, acceptedTokens }: Run): number {
  return generatedTokens - 1 - acceptedTokens;
}

/**
 * What a step with all drafts costs, and another row, from runs whose drafts are right: relative to a step without, as
 * the speed of a machine that others use varies.
 */
interface Costs {
  readonly round: number;
  readonly row: number;
}

const each = (run: Run | undefined): number => (run ? run.seconds / stepsOf(run) : Number.NaN);

const [device = 'cpu', guesses = '3', tokens = '80', only = ''] = process.argv.slice(2);
for (const kind of Object.keys(MODELS).filter((name) => name.includes(only))) {
  const [most, count] = [Number(guesses), Number(tokens)];
  let costs: Costs | undefined;
  for (const noise of NOISES) {
    const ways = [
      { sequences: 1, guesses: 0 },
      { sequences: 1, guesses: most },
      ...(costs ? [] : [1, 4].map((sequences) => ({ sequences, guesses: 1 }))),
    ];
    const of = { noise, guesses: most };
    const fixed = await measured(kind, { ...of, adapts: false }, (model) => rounds(model, count, ways));
    const adapted = await measured(kind, { ...of, adapts: true }, (model) =>
      rounds(model, count, ways.slice(0, 2)),
    );
    costs ??= {
      round: median(fixed, ([plain, drafted]) => each(drafted) / each(plain)),
      row: Math.max(
        0,
        median(fixed, ([plain, , one, four]) => (each(four) - each(one)) / 6 / each(plain)),
      ),
    };
    const [plain, drafted] = fixed[0] as [Run, Run];
    // What a recurrent state computes again, because it went back to its checkpoint.
    const replayed = Math.max(0, drafted.rows - stepsOf(drafted) - drafted.proposedTokens);
    const predicted = stepsOf(plain) / (stepsOf(drafted) * costs.round + replayed * costs.row);
    const gainOf = (runs: readonly Run[][]) =>
      median(runs, (ways) => (ways[0]?.seconds ?? 0) / (ways[1]?.seconds ?? 0));
    const gain = gainOf(fixed);
    const isSame = [...fixed, ...adapted].flat().every(({ ids }) => ids.join() === plain.ids.join());
    const facts = [
      `${kind} on ${device}, noise ${noise}`,
      `${((100 * drafted.acceptedTokens) / Math.max(1, drafted.proposedTokens)).toFixed(0)} % accepted`,
      `${((count - 1) / stepsOf(drafted)).toFixed(2)} tokens a step, ${(replayed / stepsOf(drafted)).toFixed(1)} rows of it again`,
      `${gain.toFixed(2)} x, predicted ${predicted.toFixed(2)} x (${(gain / predicted).toFixed(2)})`,
      `adapted ${gainOf(adapted).toFixed(2)} x`,
      `a step with drafts costs ${costs.round.toFixed(2)} of one without, another row ${costs.row.toFixed(2)}`,
      isSame ? 'same text' : 'ANOTHER TEXT',
      `load ${(loadavg()[0] ?? 0).toFixed(1)}`,
    ];
    process.stdout.write(`${facts.join(', ')}\n`);
  }
}
