import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import type { LanguageModel } from '../../src/index.ts';
import { loadModel, type LoadModelOptions } from '../../src/node/load-model.ts';
import { openGguf } from '../../src/node/open-gguf.ts';

// A trained model beside what transformers said of the same text: `node dist/bench/trained/compare.js reference.json
// model.gguf ... [--device cpu] [--draft model.gguf]`. Perplexity of the held-back windows, the largest difference of a token's
// log-likelihood, how many of the greedy continuation's tokens are equal, and the text; then how many draft tokens of the file's own
// predictor are accepted, or with `--draft` of another file, and whether the text is the same.

interface Reference {
  readonly windows: readonly (readonly number[])[];
  readonly logLikelihoods: readonly (readonly number[])[];
  readonly perplexity: number;
  readonly prompt: readonly number[];
  readonly greedy: readonly number[];
}

/** Draft tokens of a step. */
const GUESSES = 3;

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { device: { type: 'string', default: 'cpu' }, draft: { type: 'string' } },
});
const [referencePath, ...models] = positionals;
if (!referencePath || models.length === 0)
  throw new Error('Usage: compare reference.json model.gguf ... [--device cpu] [--draft model.gguf]');
const reference = JSON.parse(readFileSync(referencePath, 'utf8')) as Reference;
console.log(`transformers: perplexity ${reference.perplexity.toFixed(4)}`);
for (const path of models) await compare(path);

async function compare(path: string): Promise<void> {
  await using model = await loadModel(path, how());
  let sum = 0;
  let count = 0;
  let worst = 0;
  for (const [index, window] of reference.windows.entries()) {
    for (const [position, { logProbability }] of (await model.score(window)).entries()) {
      const theirs = reference.logLikelihoods[index]?.[position] ?? Number.NaN;
      worst = Math.max(worst, Math.abs(logProbability - theirs));
      sum += logProbability;
      count++;
    }
  }
  const perplexity = Math.exp(-sum / count);
  const off = (100 * (perplexity / reference.perplexity - 1)).toFixed(3);
  const { ids, text } = await continued(model);
  const equal = ids.findIndex((id, i) => id !== reference.greedy[i]);
  const same = equal < 0 ? ids.length : equal;
  console.log(
    `${path}: perplexity ${perplexity.toFixed(4)} (${off} %), largest difference ${worst.toExponential(1)}, ` +
      `${same} of ${reference.greedy.length} greedy tokens\n${JSON.stringify(text)}`,
  );
  await compareDrafted(path);
}

/** The same text with draft tokens, if there is anything that proposes them. */
async function compareDrafted(path: string): Promise<void> {
  const { draft } = options;
  if (!draft && !(await predicts(path))) return;
  const drafts = draft
    ? { draft: { path: draft, tokens: GUESSES } }
    : { predictor: true, speculation: GUESSES };
  await using model = await loadModel(path, { ...how(), ...drafts, deterministic: true });
  const plain = await continued(model, 0);
  model.reset();
  const { ids, proposed, accepted } = await continued(model, GUESSES);
  console.log(
    `${path}, drafts of ${draft ?? 'its own predictor'}: ${accepted} of ${proposed} accepted, ` +
      (ids.join() === plain.ids.join() ? 'the same text' : 'ANOTHER TEXT'),
  );
}

async function predicts(path: string): Promise<boolean> {
  await using file = await openGguf(path);
  return file.tensors.some(({ name }) => name.includes('.nextn.'));
}

function how(): LoadModelOptions {
  return { device: options.device as 'cpu', context: 512 };
}

/** The most likely continuation of the reference's prompt. */
async function continued(model: LanguageModel, speculation = 0) {
  const stream = model.generate([...reference.prompt], {
    maxTokens: reference.greedy.length,
    temperature: 0,
    speculation,
  });
  const ids: number[] = [];
  let text = '';
  for await (const piece of stream) {
    text += piece.text;
    if (piece.token) ids.push(piece.token.id);
  }
  const { proposedTokens: proposed, acceptedTokens: accepted } = stream.end;
  return { ids, text, proposed, accepted };
}
