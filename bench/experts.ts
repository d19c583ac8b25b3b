// How fast a mixture of experts is with some of its experts on the device, as a ratio to all of them, in one run. The skew is
// stated: the more used half of a layer's experts gets `--half` of all choices, and use falls from expert to expert by the same
// factor, in another order in each layer. Qwen3-30B-A3B on mixed text needs 65 of its 128 experts for 90 % of the choices, the
// most used one getting 4.3 % (58 and 6.3 % on code; gpu-container's handbook, "Routing De-risk"): by this law, 64 and 3.4 %.
// It is made by biases, fitted to what the routers say of the measured text, whose tokens are random and stay with no subject: Qwen3-30B-A3B
// chooses 43 % of the last token's experts again (BigMoeOnEdge, "Expert prediction"), here it is 14 %.
// `--places` are those besides the device that are measured: `host`, `stream`, and `ahead`, where some of a layer's experts are loaded while the
// layer before it is computed, up to `--prefetch` of them. `--link` is what the way to the device carries, of which a ceiling is computed: bytes
// of missed experts take that long, whatever hides them.
//   node dist/bench/experts.js model.gguf [--device cuda] [--share 0.4] [--half 0.9] [--tokens 96] [--prompt 512] [--places host,stream,ahead] [--prefetch 2] [--link 55]
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
import type { TappedValue } from '../src/plan/taps/tap.ts';
import { hostMemoryOf } from '../src/node/host-memory.ts';
import { fittedBiases, shuffledExperts, usesByRank } from './expert-skew.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    device: { type: 'string', default: 'cuda' },
    share: { type: 'string', default: '0.4' },
    half: { type: 'string', default: '0.9' },
    tokens: { type: 'string', default: '96' },
    prompt: { type: 'string', default: '512' },
    places: { type: 'string', default: 'host,stream,ahead' },
    prefetch: { type: 'string', default: '2' },
    link: { type: 'string', default: '55' },
  },
});
const path = positionals[0] ?? '';
if (path === '') throw new Error('which model? node dist/bench/experts.js model.gguf');
const [share, half, tokens, promptTokens] = [values.share, values.half, values.tokens, values.prompt].map(
  Number,
) as [number, number, number, number];
/** Tokens before the measured ones: slots fill by use. */
const WARM_TOKENS = 160;
/** At most so many come before the measured ones, until no more pages are pinned. */
const [MOST_WARM_PROMPTS, MOST_WARM_TEXTS] = [24, 6];
/** Biases change what comes behind them: they are fitted again to what the routers then say. */
const FITS = 2;
const ROUTER = /^blk\.(\d+)\.ffn_gate_inp\.weight$/;

await using gguf = await openGguf(path);
const routers = gguf.tensors.flatMap((tensor) => {
  const layer = ROUTER.exec(tensor.name)?.[1];
  return layer === undefined ? [] : [{ layer: Number(layer), experts: tensor.shape[1] as number }];
});
const [{ experts } = { experts: 0 }] = routers;
if (experts === 0) throw new Error('the model has no experts');
const hostMemory = hostMemoryOf(undefined);
const vocabulary = gguf.tensors.find(({ name }) => name === 'token_embd.weight')?.shape[1] ?? 0;
const random = seededRandom(17);
const ids = (count: number): number[] =>
  Array.from({ length: count }, () => Math.floor(random() * vocabulary));
const prompt = ids(promptTokens);
/** The measured text. */
const start = ids(4);
const TOLD = { maxTokens: WARM_TOKENS + tokens, temperature: 1, seed: 3, ignoreEnd: true };

const architecture = gguf.metadata.requireString('general.architecture');
const used = gguf.metadata.requireNumber(`${architecture}.expert_used_count`);
for (const key of ['expert_gating_func', 'expert_group_count']) {
  const is = gguf.metadata.number(`${architecture}.${key}`) ?? 1;
  if (is !== 1)
    throw new Error(`${key} is ${is}: the skew is made for routers that select by softmax, without groups`);
}
const uses = usesByRank({ count: experts, used, half });
let biases = new Map<number, Float32Array>();
for (let fit = 0; fit < FITS; fit++) {
  const scores = await scoresOfRouters(biases);
  biases = new Map(routers.map(({ layer }) => [layer, biasesOf(layer, scores.get(layer) ?? [])]));
}
const merged = asTensors(biases);
const slots = Math.max(1, Math.floor(share * experts));
const expertPrefetch = Number(values.prefetch);
/** The places of experts, by their names in `--places`. */
const PLACES: Readonly<Record<string, ModelOptions>> = {
  host: { experts: 'host', expertSlots: slots },
  stream: { experts: 'stream', expertSlots: slots },
  ahead: { experts: 'stream', expertSlots: slots, expertPrefetch },
};
/** Bytes of an expert of a layer, in the file. */
const bytesEach =
  gguf.tensors
    .filter(({ name }) => name.endsWith('_exps.weight'))
    .reduce((sum, { byteLength }) => sum + byteLength, 0) /
  (routers.length * experts);
const whole = await measure({});
const found = new Map<string, Measured>();
for (const place of values.places.split(',')) {
  const options = PLACES[place];
  if (!options) throw new Error(`${place} is none of ${Object.keys(PLACES).join(', ')}`);
  found.set(place, await measure(options));
}
console.log(
  `${gguf.name}: ${routers.length} layers of ${experts} experts, slots for ${slots}; load ${loadavg()[0]?.toFixed(1)}`,
);
const most = uses.slice(0, slots).reduce((sum, use) => sum + use, 0) / used;
console.log(
  `skew: half of the experts get ${(100 * half).toFixed(0)} % of all choices, the ${slots} most used ${(100 * most).toFixed(1)} %; tokens at random`,
);
console.log(
  `all experts on the device: ${whole.speed.toFixed(1)} tok/s, prompt of ${promptTokens} in one step ${whole.prompt.toFixed(0)} tok/s, weights ${gib(whole.weights)}`,
);
for (const [place, measured] of found) report(place, measured);

/** What was loaded, the ceiling that its bytes set, and whether the text is the same. */
function report(name: string, measured: Measured): void {
  const { hits, misses, prefetches, used: useful, bytes, said, speed } = measured;
  const all = hits + misses;
  // What is uploaded is counted; what is read in place is not.
  const perToken = (bytes + (name === 'host' ? misses * bytesEach : 0)) / tokens;
  const linked = 1 / Math.max(1 / whole.speed, perToken / (Number(values.link) * 1e9));
  console.log(`${name}: ${speed.toFixed(1)} tok/s, ${ratio(speed, whole.speed)}`);
  console.log(
    `  prompt ${measured.prompt.toFixed(0)} tok/s, ${ratio(measured.prompt, whole.prompt)}; weights on the device ${gib(measured.weights)}, opened and loaded in ${measured.loaded.toFixed(1)} s`,
  );
  console.log(
    `  missed ${percent(misses, all)} of ${all}; loaded ahead ${percent(prefetches, all)}, of which ${percent(useful, prefetches)} were chosen`,
  );
  console.log(
    `  ${(perToken / 1e6).toFixed(2)} MB a token; at ${values.link} GB/s at most ${linked.toFixed(1)} tok/s, ${ratio(linked, whole.speed)}`,
  );
  console.log(`  the same tokens: ${JSON.stringify(whole.said) === JSON.stringify(said) ? 'yes' : 'NO'}`);
}

/** By layer: the scores of the measured text's rows, one by one, with the routers biased. */
async function scoresOfRouters(
  biased: ReadonlyMap<number, Float32Array>,
): Promise<ReadonlyMap<number, readonly number[]>> {
  const scores = new Map<number, number[]>(routers.map(({ layer }) => [layer, []]));
  const taps = new Map(
    routers.map(({ layer }) => [
      `blk.${layer}.ffn_gate_inp`,
      ({ rows, values: logits }: TappedValue): undefined => {
        if (rows === 1) scores.get(layer)?.push(...softmax(logits));
      },
    ]),
  );
  await using model = await open({ taps }, asTensors(biased));
  await model.generate(start, TOLD).text();
  return scores;
}

/** The biases of a layer, whose experts have the skew in an order of their own. */
function biasesOf(layer: number, scores: readonly number[]): Float32Array {
  const wanted = new Float64Array(experts);
  for (const [rank, expert] of shuffledExperts(experts, layer).entries())
    wanted[expert] = uses[rank] as number;
  return fittedBiases(Float32Array.from(scores), wanted, used);
}

function softmax(logits: Float32Array): number[] {
  const most = Math.max(...logits);
  const powers = Array.from(logits, (logit) => Math.exp(logit - most));
  const sum = powers.reduce((a, b) => a + b, 0);
  return powers.map((power) => power / sum);
}

/** Biases of the layers' scores, as tensors of the file. */
function asTensors(of: ReadonlyMap<number, Float32Array>): ReadonlyMap<string, TensorInfo> {
  return new Map(
    [...of].map(([layer, bias]) => {
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
    context: 2048 + promptTokens,
    batch: promptTokens,
    hostMemory,
    ...options,
  });
  await model.loaded;
  return model;
}

async function measure(options: ModelOptions) {
  const opening = performance.now();
  await using model = await open(options, merged);
  const loaded = (performance.now() - opening) / 1000;
  const said: number[] = [];
  const greedy = model.generate(prompt.slice(0, 4), { maxTokens: 24, temperature: 0, ignoreEnd: true });
  for await (const { token } of greedy) if (token) said.push(token.id);
  // The first prompts record steps; pages are pinned from their second use on, while the next ones run.
  let free = -1;
  for (let i = 0; i < MOST_WARM_PROMPTS && (i < 2 || free !== hostMemory?.info.free); i++) {
    free = hostMemory?.info.free ?? -1;
    await model.generate(ids(promptTokens), { maxTokens: 1, temperature: 0, ignoreEnd: true }).text();
  }
  const begin = performance.now();
  await model.generate(prompt, { maxTokens: 1, temperature: 0, ignoreEnd: true }).text();
  const promptSeconds = (performance.now() - begin) / 1000;
  let text = await told(model);
  for (let i = 0; i < MOST_WARM_TEXTS && free !== hostMemory?.info.free; i++) {
    free = hostMemory?.info.free ?? -1;
    text = await told(model);
  }
  return { said, prompt: promptTokens / promptSeconds, weights: model.fit.weights, loaded, ...text };
}

/** The measured text, behind its first tokens: its speed, and how often its experts were on the device. */
async function told(model: LanguageModel) {
  let since = 0;
  let before = model.counters;
  let count = 0;
  for await (const { token } of model.generate(start, TOLD)) {
    if (!token || ++count !== WARM_TOKENS) continue;
    [since, before] = [performance.now(), model.counters];
  }
  const seconds = (performance.now() - since) / 1000;
  const { expertHits, expertMisses, expertPrefetches, expertPrefetchesUsed, expertBytes } = model.counters;
  return {
    speed: tokens / seconds,
    hits: expertHits - before.expertHits,
    misses: expertMisses - before.expertMisses,
    prefetches: expertPrefetches - before.expertPrefetches,
    used: expertPrefetchesUsed - before.expertPrefetchesUsed,
    bytes: expertBytes - before.expertBytes,
  };
}

type Measured = Awaited<ReturnType<typeof measure>>;

function percent(part: number, all: number): string {
  return `${((100 * part) / Math.max(1, all)).toFixed(1)} %`;
}

function gib(bytes: number): string {
  return `${(bytes / 2 ** 30).toFixed(2)} GiB`;
}

function ratio(some: number, all: number): string {
  return `${(some / all).toFixed(2)} of the speed`;
}
