import { fork } from 'node:child_process';
import { once, setMaxListeners } from 'node:events';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { LanguageModel } from '../src/engine/language-model.ts';
import type { TextModel } from '../src/engine/text-model.ts';
import { StepProfile } from '../src/runtime/jobs/step-profile.ts';
import { HttpListener } from '../src/node/http-listener.ts';
import { loadModel } from '../src/node/load-model.ts';
import { loadModelInWorker } from '../src/node/load-model-in-worker.ts';
import { ModelServer } from '../src/server/index.ts';
import { bareStep } from './serve/bare-steps.ts';
import type { ClientResult, ClientRound } from './serve/stream-clients.ts';

// What the engine adds to a bare step, and what HTTP adds to the engine: `node dist/bench/serve.js MODEL [--device
// cuda] [--clients 64] [--prompt 128] [--generate 128] [--rounds 3]`. Prompts are processed before the clock starts,
// except where the time to the first token is measured. The engine alone runs on this thread; the
// server's, which is opened when that is done, has a thread of its own, as in `rocmforge serve`. All requests are written at
// once, each on a new connection, by another process.

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    device: { type: 'string', default: 'cpu' },
    clients: { type: 'string', default: '64' },
    prompt: { type: 'string', default: '128' },
    generate: { type: 'string', default: '128' },
    rounds: { type: 'string', default: '3' },
    arrivals: { type: 'string', default: '40' },
    'token-target': { type: 'string', default: '0' },
    'in-flight': { type: 'string', default: '2' },
    profile: { type: 'boolean', default: false },
  },
});
const clients = Number(values.clients);
const promptTokens = Number(values.prompt);
const generated = Number(values.generate);
const rounds = Number(values.rounds);
const [location = 'models/minimind2-small-q4_k_m.gguf'] = positionals;

const options = {
  device: values.device,
  sequences: clients,
  context: 8 * promptTokens,
  inFlight: Number(values['in-flight']),
  load: 'eager',
  ...(Number(values['token-target']) > 0 && { runtime: { tokenMs: Number(values['token-target']) } }),
} as const;
const clientProcess = fork(fileURLToPath(new URL('serve/stream-clients.js', import.meta.url)));

/** Random ids, different for each seed. */
function someTokens({ tokenizer: { vocabularySize } }: TextModel, count: number, seed: number): number[] {
  return Array.from({ length: count }, (_, i) => (i * 7919 + seed * 104_729 + 1) % vocabularySize);
}

/** Continues all prompts at once with an engine; returns milliseconds. */
async function throughEngine(of: TextModel, prompts: readonly number[][], count: number): Promise<number> {
  const begin = performance.now();
  const options = { temperature: 0, maxTokens: count, ignoreEnd: true };
  await Promise.all(prompts.map((prompt) => of.generate(prompt, options).text()));
  return performance.now() - begin;
}

/** Continues them with a server; resolves with what each client saw. */
async function throughHttp(
  url: string,
  prompts: readonly number[][],
  count: number,
): Promise<readonly ClientResult[]> {
  const round: ClientRound = { url, prompts, generated: count };
  clientProcess.send(round);
  const [results] = (await once(clientProcess, 'message')) as [readonly ClientResult[]];
  return results;
}

function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}

function ascending(values: Iterable<number>): number[] {
  return [...values].sort((a, b) => a - b);
}

function best(times: readonly number[]): number {
  return quantile(ascending(times), 0.5);
}

function line(name: string, facts: Record<string, number | string>): void {
  const shown = Object.entries(facts).map(
    ([key, value]) => `${key} ${typeof value === 'number' ? Number(value.toPrecision(4)) : value}`,
  );
  console.log(`${name}: ${shown.join(', ')}`);
}

async function oneSequence(model: LanguageModel): Promise<void> {
  const steps: number[] = [];
  for (let round = 0; round <= rounds; round++) {
    model.reset();
    const stream = model.generate([1], { temperature: 0, maxTokens: generated + 1, ignoreEnd: true });
    await stream.text();
    if (round > 0) steps.push((1000 * stream.end.generateSeconds) / generated);
  }
  const bare = await bareStep(model, 1, generated >> 1);
  const step = best(steps);
  line('one sequence', { 'tok/s': 1000 / step, 'ms a step': step, 'bare step ms': bare, share: bare / step });
}

/** The prompts of all clients, which are in the model's cache; `ms` is what computing them took. */
async function readPrompts(model: TextModel): Promise<{ prompts: number[][]; ms: number }> {
  const prompts = Array.from({ length: clients }, (_, seed) => someTokens(model, promptTokens, seed));
  await model.reset();
  return { prompts, ms: await throughEngine(model, prompts, 1) };
}

/** Returns the milliseconds of a round. */
async function allSequences(model: LanguageModel): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round <= rounds; round++) {
    const { prompts, ms } = await readPrompts(model);
    if (round === 0) line('prompts', { 'tok/s': (1000 * clients * promptTokens) / ms, ms });
    const took = await throughEngine(model, prompts, generated);
    if (round > 0) times.push(took);
  }
  const bare = await bareStep(model, clients, promptTokens + (generated >> 1));
  const step = best(times) / generated;
  line(`${clients} sequences, engine`, {
    'tok/s': (1000 * clients) / step,
    'ms a step': step,
    'bare step ms': bare,
    share: bare / step,
  });
  return best(times);
}

/** The same through HTTP; the engine alone took `alone` milliseconds. */
async function allClients(model: TextModel, url: string, alone: number): Promise<void> {
  const times: number[] = [];
  let last: readonly ClientResult[] = [];
  for (let round = 0; round <= rounds; round++) {
    const { prompts } = await readPrompts(model);
    last = await throughHttp(url, prompts, generated);
    if (round > 0) times.push(Math.max(...last.map((of) => of.last)));
  }
  const [{ events, bytes } = { events: 0, bytes: 0 }] = last;
  line(`${clients} sequences, HTTP`, {
    'tok/s': (1000 * clients * generated) / best(times),
    'of the engine': alone / best(times),
    'all had their first token after ms': Math.max(...last.map(({ first }) => first)),
    'events a client': events,
    'bytes an event': bytes / events,
  });
}

/** The time to the first token of prompts that arrive one after another while half of the sequences generate. */
async function arrivals(model: TextModel, url?: string): Promise<void> {
  await model.reset();
  const controller = new AbortController();
  setMaxListeners(clients, controller.signal);
  const busy = Array.from({ length: clients >> 1 }, (_, seed) => {
    const how = { temperature: 0, ignoreEnd: true, signal: controller.signal };
    return model.generate(someTokens(model, promptTokens, 1000 + seed), how).text();
  });
  const ended = Promise.allSettled(busy);
  await new Promise((resolve) => setTimeout(resolve, 500));
  const times: number[] = [];
  for (let i = 0; i < Number(values.arrivals); i++) {
    const prompts = [someTokens(model, promptTokens, 5000 + i)];
    if (url === undefined) times.push(await throughEngine(model, prompts, 1));
    else times.push(...(await throughHttp(url, prompts, 1)).map(({ first }) => first));
    await new Promise((resolve) => setTimeout(resolve, 3));
  }
  const still = model.activity.sequences.length;
  controller.abort();
  await ended;
  const sorted = ascending(times);
  line(`first token while ${clients >> 1} generate, ${url === undefined ? 'engine' : 'HTTP'}`, {
    'p50 ms': quantile(sorted, 0.5),
    'p95 ms': quantile(sorted, 0.95),
    'most ms': sorted.at(-1) ?? Number.NaN,
    'still generating': still,
  });
}

/** The engine alone; returns the milliseconds of a round. */
async function engineAlone(): Promise<number> {
  const profile = values.profile ? new StepProfile() : undefined;
  await using model = await loadModel(location, { ...options, profile });
  console.log(`${location} on ${model.device.info.name}`);
  await oneSequence(model);
  const alone = await allSequences(model);
  await arrivals(model);
  for (const { phase, mean, median, p95, max } of profile?.summary() ?? []) {
    line(phase, { 'mean ms': mean, median, p95, max });
  }
  if (profile) line('gaps', { 'share of the device': profile.idleFraction });
  return alone;
}

const alone = await engineAlone();
const model = await loadModelInWorker(location, options);
await using server = new ModelServer({
  models: [{ id: 'model', created: 0, open: async () => model }],
  parallel: clients,
});
await server.loaded;
await using listener = await HttpListener.open(server.fetch, { port: 0 });
await allClients(model, listener.url, alone);
await arrivals(model, listener.url);
clientProcess.disconnect();
