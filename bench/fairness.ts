import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { HttpListener } from '../src/node/http-listener.ts';
import { loadModelInWorker } from '../src/node/load-model-in-worker.ts';
import { ModelServer } from '../src/server/index.ts';
import type { ClientResult, ClientRound } from './serve/stream-clients.ts';

// How other clients' requests affect a client: `node dist/bench/fairness.js [MODEL] [--clients 16] [--prompt 512]
// [--generate 64] [--context 8192] [--token-target 20] [--prompt-target 250] [--only text]`. First, how long one token takes
// alone, behind a request with 128 answers, and behind a prompt that fills the context; then the gaps between tokens of many
// clients while others' prompts are processed. `--only` selects parts by a substring of their names. All times are in
// milliseconds.

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    clients: { type: 'string', default: '16' },
    prompt: { type: 'string', default: '512' },
    generate: { type: 'string', default: '64' },
    context: { type: 'string', default: '8192' },
    device: { type: 'string', default: 'cpu' },
    'token-target': { type: 'string', default: '20' },
    'prompt-target': { type: 'string', default: '250' },
    only: { type: 'string', default: '' },
  },
});
const [location = 'models/minimind2-small-q4_k_m.gguf'] = positionals;
const clients = Number(values.clients);
const promptTokens = Number(values.prompt);
const generated = Number(values.generate);
const [tokenMs, promptMs] = [values['token-target'], values['prompt-target']].map((target) =>
  Number(target) > 0 ? Number(target) : undefined,
);
const context = Number(values.context);

const model = await loadModelInWorker(location, {
  device: values.device,
  sequences: clients,
  context,
  cachePositions: 4 * context,
  runtime: { tokenMs, promptMs },
});
await model.loaded;
const server = new ModelServer({
  models: [{ id: 'model', created: 0, open: async () => model }],
  parallel: clients,
});
await server.loaded;
const listener = await HttpListener.open(server.fetch, { port: 0 });
const [client, other] = [1, 2].map(() =>
  fork(fileURLToPath(new URL('serve/stream-clients.js', import.meta.url))),
) as [ChildProcess, ChildProcess];
const { vocabularySize } = model.tokenizer;
let seeds = 0;

/** Random ids, different each time. */
function fresh(count: number): number[] {
  const seed = ++seeds;
  return Array.from({ length: count }, (_, i) => (i * 7919 + seed * 104_729 + 1) % vocabularySize);
}

async function round(of: ChildProcess, asks: Omit<ClientRound, 'url'>): Promise<readonly ClientResult[]> {
  of.send({ url: listener.url, ...asks } satisfies ClientRound);
  const [results] = (await once(of, 'message')) as [readonly ClientResult[]];
  return results;
}

function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}

/** How long single tokens take under the current load. */
async function single(name: string, rounds = 5): Promise<void> {
  const times: number[] = [];
  for (let i = 0; i < rounds; i++) {
    const [result] = await round(client, { prompts: [fresh(16)], generated: 1 });
    times.push(result?.last ?? Number.NaN);
  }
  console.log(`${name}: p50 ${quantile(times, 0.5).toFixed(0)}, most ${Math.max(...times).toFixed(0)}`);
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

async function alone(): Promise<void> {
  await single('one token alone');
}

async function behindMany(): Promise<void> {
  const many = round(other, { prompts: [fresh(16)], generated, choices: 128 });
  await pause(500);
  await single('one token behind 128 answers');
  await many;
}

async function behindLong(): Promise<void> {
  const prompt = fresh(context - generated - 1);
  const long = round(other, { prompts: [prompt], generated });
  await pause(500);
  await single('one token behind a long prompt', 3);
  const [result] = await long;
  console.log(`the long prompt beside them: ${result?.last.toFixed(0)}`);
  const before = process.cpuUsage().user;
  const [undisturbed] = await round(other, { prompts: [fresh(prompt.length)], generated: 1 });
  const processor = (process.cpuUsage().user - before) / 1000;
  console.log(`another one alone: ${undisturbed?.last.toFixed(0)}, of the processor ${processor.toFixed(0)}`);
}

function tellGaps(name: string, results: readonly ClientResult[]): void {
  const gaps = results.flatMap((result) => result.gaps);
  const [median, late] = [quantile(gaps, 0.5), quantile(gaps, 0.99)];
  const last = Math.max(...results.map((result) => result.last));
  console.log(
    `gaps of ${name}: p50 ${median.toFixed(0)}, p99 ${late.toFixed(0)}; all done after ${last.toFixed(0)}`,
  );
}

async function besidePrompts(): Promise<void> {
  const banned = [...model.tokenizer.special.endOfGeneration];
  const texts = Array.from(
    { length: clients / 2 },
    (_, i) => `Once upon a time there were ${i + 2} brothers who`,
  );
  const streams = round(other, {
    prompts: texts.map((text) => model.tokenizer.encode(text, { addSpecial: true })),
    generated: 4 * generated,
    banned,
  });
  await pause(500);
  const begin = performance.now();
  for (let i = 0; i < 4; i++)
    await round(client, { prompts: [fresh(promptTokens), fresh(promptTokens)], generated: 1 });
  const read = performance.now() - begin;
  tellGaps(`${clients / 2} streams beside prompts`, await streams);
  console.log(`those prompts: ${read.toFixed(0)}`);
}

async function together(): Promise<void> {
  const prompts = Array.from({ length: clients }, () => fresh(promptTokens));
  tellGaps(`${clients} that begin together`, await round(other, { prompts, generated }));
}

console.log(
  `${location} on ${model.device.info.name}, ${clients} sequences, targets ${tokenMs ?? 0} and ${promptMs ?? 0}`,
);
for (const part of [alone, behindMany, behindLong, besidePrompts, together])
  if (part.name.includes(values.only)) await part();
client.disconnect();
other.disconnect();
await listener[Symbol.asyncDispose]();
await server[Symbol.asyncDispose]();
