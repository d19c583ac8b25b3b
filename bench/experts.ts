// How fast a mixture of experts is with some of its experts on the device, as a ratio to all of them, in one run. The skew is
// stated: biases are added to the scores by which each layer's router selects, so that experts are chosen by Zipf's law with the
// given exponent, in another order in each layer; the spread of the router's own scores is the chance in it, drawn anew for each
// token, since the text is of random tokens: texts that stay with a subject repeat their experts more.
//   node dist/bench/experts.js model.gguf [--device cuda] [--share 0.4] [--zipf 1.0] [--tokens 96] [--prompt 512]
import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { asBytes } from '../src/base/bytes.ts';
import { seededRandom } from '../src/base/seeded-random.ts';
import { LanguageModel, type ModelOptions } from '../src/engine/language-model.ts';
import { F32 } from '../src/formats/index.ts';
import type { TensorInfo } from '../src/gguf/index.ts';
import { MemorySource } from '../src/io/index.ts';
import { ALL_ARCHITECTURES } from '../src/model/architectures/index.ts';
import { openDevice } from '../src/node/devices.ts';
import { openGguf } from '../src/node/index.ts';
import { hostMemoryOf } from '../src/node/host-memory.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    device: { type: 'string', default: 'cuda' },
    share: { type: 'string', default: '0.4' },
    zipf: { type: 'string', default: '1.0' },
    tokens: { type: 'string', default: '96' },
    prompt: { type: 'string', default: '512' },
  },
});
const path = positionals[0] ?? '';
if (path === '') throw new Error('which model? node dist/bench/experts.js model.gguf');
const [share, zipf, tokens, promptTokens] = [values.share, values.zipf, values.tokens, values.prompt].map(
  Number,
) as [number, number, number, number];
/** Tokens before the measured ones: slots fill by use. */
const WARM_TOKENS = 160;
/** The standard deviation of Gumbel noise: with it, the largest of log shares plus noise are drawn by the shares. */
const GUMBEL = Math.PI / Math.sqrt(6);
const ROUTER = /^blk\.(\d+)\.ffn_gate_inp\.weight$/;

await using gguf = await openGguf(path);
const routers = gguf.tensors.flatMap((tensor) => {
  const layer = ROUTER.exec(tensor.name)?.[1];
  return layer === undefined ? [] : [{ layer: Number(layer), experts: tensor.shape[1] as number }];
});
const [{ experts } = { experts: 0 }] = routers;
if (experts === 0) throw new Error('the model has no experts');
const vocabulary = gguf.tensors.find(({ name }) => name === 'token_embd.weight')?.shape[1] ?? 0;
const random = seededRandom(17);
const ids = (count: number): number[] =>
  Array.from({ length: count }, () => Math.floor(random() * vocabulary));
const prompt = ids(promptTokens);

const spread = await spreadOfGates();
const merged = skewed(spread);
const slots = Math.max(1, Math.floor(share * experts));
const whole = await measure({});
const some = await measure({ experts: 'stream', expertSlots: slots });
const chosen = some.hits + some.misses;
console.log(
  `${gguf.name}: ${routers.length} layers of ${experts} experts, slots for ${slots}; load ${loadavg()[0]?.toFixed(1)}`,
);
console.log(
  `skew: Zipf ${zipf}, permuted by layer, over a spread of ${spread.toExponential(2)} of the gates; tokens at random`,
);
console.log(`weights on the device: ${gib(some.weights)} of ${gib(whole.weights)}`);
console.log(
  `prompt of ${promptTokens}: ${whole.prompt.toFixed(0)} and ${some.prompt.toFixed(0)} tok/s, ${ratio(some.prompt, whole.prompt)}`,
);
console.log(
  `one sequence: ${whole.speed.toFixed(1)} and ${some.speed.toFixed(1)} tok/s, ${ratio(some.speed, whole.speed)}`,
);
console.log(
  `missed: ${((100 * some.misses) / chosen).toFixed(1)} % of ${chosen}, ${(some.bytes / tokens / 1e6).toFixed(0)} MB a token`,
);
console.log(`the same tokens: ${JSON.stringify(whole.said) === JSON.stringify(some.said) ? 'yes' : 'NO'}`);

/** The standard deviation of a layer's gates over tokens. */
async function spreadOfGates(): Promise<number> {
  const middle = routers[Math.floor(routers.length / 2)]?.layer ?? 0;
  const gates: number[] = [];
  const taps = new Map([
    [
      `blk.${middle}.ffn_gate_inp`,
      ({ rows, width, values: logits }: { rows: number; width: number; values: Float32Array }) => {
        for (let row = 0; row < rows; row++)
          gates.push(...softmax(logits.subarray(row * width, (row + 1) * width)));
        return undefined;
      },
    ],
  ]);
  await using model = await open({ taps, context: 128, batch: 64 });
  await model.generate(ids(64), { maxTokens: 1, temperature: 0 }).text();
  const mean = gates.reduce((sum, gate) => sum + gate, 0) / gates.length;
  return Math.sqrt(gates.reduce((sum, gate) => sum + (gate - mean) ** 2, 0) / gates.length);
}

function softmax(logits: Float32Array): number[] {
  const most = Math.max(...logits);
  const powers = Array.from(logits, (logit) => Math.exp(logit - most));
  const sum = powers.reduce((a, b) => a + b, 0);
  return powers.map((power) => power / sum);
}

/** Biases of each layer's scores, as tensors of the file. */
function skewed(deviation: number): ReadonlyMap<string, TensorInfo> {
  return new Map(
    routers.map(({ layer }) => {
      const order = Array.from({ length: experts }, (_, i) => ({ i, at: random() })).sort(
        (a, b) => a.at - b.at,
      );
      const bias = new Float32Array(experts);
      for (const [rank, { i }] of order.entries())
        bias[i] = (-zipf * Math.log(1 + rank) * deviation) / GUMBEL;
      const source = new MemorySource(asBytes(bias), 'biases');
      const name = `blk.${layer}.exp_probs_b.bias`;
      const sizes = { shape: [experts], elementCount: experts, byteLength: 4 * experts };
      return [name, { name, format: F32, ...sizes, offset: 0, source }];
    }),
  );
}

async function open(
  options: ModelOptions,
  tensors?: ReadonlyMap<string, TensorInfo>,
): Promise<LanguageModel> {
  const device = await openDevice({ device: values.device });
  const parts = { gguf: await openGguf(path), device, architectures: ALL_ARCHITECTURES, merged: tensors };
  const model = await LanguageModel.open(parts, {
    context: 2048,
    hostMemory: hostMemoryOf(undefined),
    ...options,
  });
  await model.loaded;
  return model;
}

async function measure(options: ModelOptions) {
  await using model = await open(options, merged);
  const said: number[] = [];
  const greedy = model.generate(prompt.slice(0, 4), { maxTokens: 24, temperature: 0, ignoreEnd: true });
  for await (const { token } of greedy) if (token) said.push(token.id);
  // The first prompt records steps and pins pages.
  await model.generate(ids(promptTokens), { maxTokens: 1, temperature: 0 }).text();
  const begin = performance.now();
  await model.generate(prompt, { maxTokens: 1, temperature: 0, ignoreEnd: true }).text();
  const promptSeconds = (performance.now() - begin) / 1000;
  let since = 0;
  let before = model.counters;
  let count = 0;
  const told = model.generate(ids(4), {
    maxTokens: WARM_TOKENS + tokens,
    temperature: 1,
    seed: 3,
    ignoreEnd: true,
  });
  for await (const { token } of told) {
    if (!token || ++count !== WARM_TOKENS) continue;
    [since, before] = [performance.now(), model.counters];
  }
  const seconds = (performance.now() - since) / 1000;
  const { expertHits, expertMisses, expertBytes } = model.counters;
  return {
    said,
    prompt: promptTokens / promptSeconds,
    speed: tokens / seconds,
    hits: expertHits - before.expertHits,
    misses: expertMisses - before.expertMisses,
    bytes: expertBytes - before.expertBytes,
    weights: model.fit.weights,
  };
}

function gib(bytes: number): string {
  return `${(bytes / 2 ** 30).toFixed(2)} GiB`;
}

function ratio(some: number, all: number): string {
  return `${(some / all).toFixed(2)} of the speed`;
}
