import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { loadModel, type LoadModelOptions } from '../../src/node/load-model.ts';

// A trained model beside what transformers said of the same text: `node dist/bench/trained/compare.js reference.json
// model.gguf ... [--device cpu]`. Perplexity of the held-back windows, the largest difference of a token's
// log-likelihood, how many of the greedy continuation's tokens are equal, and the text.

interface Reference {
  readonly windows: readonly (readonly number[])[];
  readonly logLikelihoods: readonly (readonly number[])[];
  readonly perplexity: number;
  readonly prompt: readonly number[];
  readonly greedy: readonly number[];
}

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { device: { type: 'string', default: 'cpu' }, text: { type: 'boolean', default: false } },
});
const [referencePath, ...models] = positionals;
if (!referencePath || models.length === 0)
  throw new Error('Usage: compare reference.json model.gguf ... [--device cpu]');
const reference = JSON.parse(readFileSync(referencePath, 'utf8')) as Reference;
console.log(`transformers: perplexity ${reference.perplexity.toFixed(4)}`);
for (const path of models) await compare(path);

async function compare(path: string): Promise<void> {
  const how: LoadModelOptions = { device: options.device as 'cpu', context: 512 };
  await using model = await loadModel(path, how);
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
  const ids: number[] = [];
  for await (const { token } of model.generate([...reference.prompt], {
    maxTokens: reference.greedy.length,
    temperature: 0,
  })) {
    if (token) ids.push(token.id);
  }
  const equal = ids.findIndex((id, i) => id !== reference.greedy[i]);
  const same = equal < 0 ? ids.length : equal;
  console.log(
    `${path}: perplexity ${perplexity.toFixed(4)} (${off} %), largest difference ${worst.toExponential(1)}, ` +
      `${same} of ${reference.greedy.length} greedy tokens`,
  );
}
