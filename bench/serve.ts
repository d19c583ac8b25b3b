import { fork } from 'node:child_process';
import { once, setMaxListeners } from 'node:events';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { LanguageModel } from '../src/engine/language-model.ts';
import { StepProfile } from '../src/runtime/jobs/step-profile.ts';
import { HttpListener } from '../src/node/http-listener.ts';
import { loadModel } from '../src/node/load-model.ts';
import { ModelServer } from '../src/server/index.ts';
import { bareStep } from './serve/bare-steps.ts';
import type { ClientResult, ClientRound } from './serve/stream-clients.ts';

// What the engine adds to a bare step, and what HTTP adds to the engine: `node dist/bench/serve.js MODEL [--device
// cuda] [--clients 64] [--prompt 128] [--generate 128] [--rounds 3]`. Prompts are processed before the clock starts,
// except where the time to the first token is measured.

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

const profile = values.profile ? new StepProfile() : undefined;
const model = await loadModel(location, {
  device: values.device,
  sequences: clients,
  context: 8 * promptTokens,
  inFlight: Number(values['in-flight']),
  load: 'eager',
  ...(Number(values['token-target']) > 0 && { runtime: { tokenMs: Number(values['token-target']) } }),
  profile,
});
const server = new ModelServer({
  models: [{ id: 'model', created: 0, open: async () => model }],
  parallel: clients,
});
await server.loaded;
const listener = await HttpListener.open(server.fetch, { port: 0 });
const clientProcess = fork(fileURLToPath(new URL('serve/stream-clients.js', import.meta.url)));
const { vocabularySize } = model.tokenizer;

/** Random ids, different for each seed. */
function someTokens(count: number, seed: number): number[] {
  return Array.from({ length: count }, (_, i) => (i * 7919 + seed * 104_729 + 1) % vocabularySize);
}

/** Continues all prompts at once with the engine; returns milliseconds. */
async function throughEngine(
  of: LanguageModel,
  prompts: readonly number[][],
  count: number,
): Promise<number> {
  const begin = performance.now();
  const options = { temperature: 0, maxTokens: count, ignoreEnd: true };
  await Promise.all(prompts.map((prompt) => of.generate(prompt, options).text()));
  return performance.now() - begin;
}

async function throughHttp(prompts: readonly number[][], count: number): Promise<readonly ClientResult[]> {
  const round: ClientRound = { url: listener.url, prompts, generated: count };
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

async function oneSequence(): Promise<void> {
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

async function allSequences(): Promise<void> {
  const prompts = Array.from({ length: clients }, (_, seed) => someTokens(promptTokens, seed));
  const engine: number[] = [];
  const http: number[] = [];
  let results: readonly ClientResult[] = [];
  for (let round = 0; round <= rounds; round++) {
    model.reset();
    const reading = await throughEngine(model, prompts, 1);
    if (round === 0) line('prompts', { 'tok/s': (1000 * clients * promptTokens) / reading, ms: reading });
    const took = await throughEngine(model, prompts, generated);
    model.reset();
    await throughEngine(model, prompts, 1);
    results = await throughHttp(prompts, generated);
    if (round === 0) continue;
    engine.push(took);
    http.push(Math.max(...results.map(({ last }) => last)));
  }
  const bare = await bareStep(model, clients, promptTokens + (generated >> 1));
  const total = clients * generated * 1000;
  const step = best(engine) / generated;
  line(`${clients} sequences, engine`, {
    'tok/s': total / best(engine),
    'ms a step': step,
    'bare step ms': bare,
    share: bare / step,
  });
  const [first] = results;
  line(`${clients} sequences, HTTP`, {
    'tok/s': total / best(http),
    'of the engine': best(engine) / best(http),
    'events a client': first?.events ?? 0,
    'bytes an event': (first?.bytes ?? 0) / (first?.events ?? 1),
  });
}

/** The time to the first token of prompts that arrive one after another while half of the sequences generate. */
async function arrivals(): Promise<void> {
  for (const way of ['engine', 'HTTP'] as const) {
    model.reset();
    const controller = new AbortController();
    setMaxListeners(clients, controller.signal);
    const busy = Array.from({ length: clients >> 1 }, (_, seed) => {
      const options = { temperature: 0, ignoreEnd: true, signal: controller.signal };
      return model.generate(someTokens(promptTokens, 1000 + seed), options).text();
    });
    const ended = Promise.allSettled(busy);
    await new Promise((resolve) => setTimeout(resolve, 500));
    const times: number[] = [];
    for (let i = 0; i < Number(values.arrivals); i++) {
      const prompt = someTokens(promptTokens, 5000 + i);
      if (way === 'engine') times.push(await throughEngine(model, [prompt], 1));
      else times.push(...(await throughHttp([prompt], 1)).map(({ first }) => first));
      await new Promise((resolve) => setTimeout(resolve, 3));
    }
    const still = model.activity.sequences.length;
    controller.abort();
    await ended;
    const sorted = ascending(times);
    line(`first token while ${clients >> 1} generate, ${way}`, {
      'p50 ms': quantile(sorted, 0.5),
      'p95 ms': quantile(sorted, 0.95),
      'most ms': sorted.at(-1) ?? Number.NaN,
      'still generating': still,
    });
  }
}

console.log(`${location} on ${model.device.info.name}`);
await oneSequence();
await allSequences();
await arrivals();
for (const { phase, mean, median, p95, max } of profile?.summary() ?? []) {
  line(phase, { 'mean ms': mean, median, p95, max });
}
if (profile) line('gaps', { 'share of the device': profile.idleFraction });
clientProcess.disconnect();
await listener[Symbol.asyncDispose]();
await server[Symbol.asyncDispose]();
