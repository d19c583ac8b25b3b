import { fork } from 'node:child_process';
import { once } from 'node:events';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { HttpListener } from '../src/node/http-listener.ts';
import { loadModel } from '../src/node/load-model.ts';
import { loadModelInWorker } from '../src/node/load-model-in-worker.ts';
import { PrometheusMetrics } from '../src/node/prometheus-metrics.ts';
import { ModelServer } from '../src/server/index.ts';
import type { LoadResult, LoadRound } from './event-loop/load-clients.ts';

// How long requests wait for the thread that serves HTTP: `npm run bench:event-loop -- [MODEL] [--device cpu]
// [--engines in-process,worker] [--streams 64] [--generate 64] [--writers 4] [--tokens 50000] [--seconds 10]`. For each
// engine: the delay of the event loop (perf_hooks, timers of 1 ms, minus their own interval) and the latency of GET
// /health, while idle, with streams, and with long prompts being tokenized as well.

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    device: { type: 'string', default: 'cpu' },
    threads: { type: 'string' },
    engines: { type: 'string', default: 'in-process,worker' },
    streams: { type: 'string', default: '64' },
    generate: { type: 'string', default: '64' },
    writers: { type: 'string', default: '4' },
    tokens: { type: 'string', default: '50000' },
    seconds: { type: 'string', default: '10' },
  },
});
const [location = 'models/minimind2-small-q4_k_m.gguf'] = positionals;
const streams = Number(values.streams);
const writers = Number(values.writers);
const seconds = Number(values.seconds);
const generated = Number(values.generate);
const RESOLUTION_MS = 1;
const PROBE_MS = 5;
const SENTENCES = [
  'The quick brown fox jumps over the lazy dog, and nobody knows why it does so every morning. ',
  'In 1984 the price of 3.5 tons was $12,345.67; the function f(x) = x ** 2 returned null. ',
  'Über den Wolken muß die Freiheit wohl grenzenlos sein, sagte der alte Kapitän. ',
];

/** Opens a model with the named kind of engine. */
const ENGINES = { 'in-process': loadModel, worker: loadModelInWorker };

type EngineName = keyof typeof ENGINES;

function quantile(of: readonly number[], share: number): number {
  const sorted = [...of].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}

function shown(facts: Readonly<Record<string, number>>): string {
  return Object.entries(facts)
    .map(([name, value]) => `${name} ${Number(value.toPrecision(3))}`)
    .join(', ');
}

async function measure(engine: EngineName): Promise<void> {
  const of = {
    device: values.device,
    sequences: streams,
    context: 512,
    load: 'eager',
    ...(values.threads && { threads: Number(values.threads) }),
  } as const;
  await using server = new ModelServer({
    models: [{ id: 'model', created: 0, open: ({ signal }) => ENGINES[engine](location, { ...of, signal }) }],
    parallel: streams,
    queue: streams,
    metrics: new PrometheusMetrics(),
  });
  const begin = performance.now();
  await server.loaded;
  console.log(`${engine}: loaded in ${Math.round(performance.now() - begin)} ms`);
  await using listener = await HttpListener.open(server.fetch, { port: 0 });
  const clients = fork(fileURLToPath(new URL('event-loop/load-clients.js', import.meta.url)));
  const longText = await textOf(listener.url, Number(values.tokens));
  const base = { url: listener.url, seconds, generated, longText, probeMs: PROBE_MS };
  const rounds: readonly (readonly [string, LoadRound])[] = [
    ['nothing to do', { ...base, streams: 0, writers: 0 }],
    [`${streams} streams`, { ...base, streams, writers: 0 }],
    [`${streams} streams, ${writers} long prompts`, { ...base, streams, writers }],
  ];
  for (const [name, round] of rounds) {
    // Excludes the cost of first use.
    await load(clients, { ...round, seconds: Math.min(2, seconds) });
    const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
    delay.enable();
    const from = performance.now();
    const result = await load(clients, round);
    const took = (performance.now() - from) / 1000;
    delay.disable();
    const ms = (nanoseconds: number) => Math.max(0, nanoseconds / 1e6 - RESOLUTION_MS);
    const loop = { p50: ms(delay.percentile(50)), p99: ms(delay.percentile(99)), most: ms(delay.max) };
    const probes = {
      p50: quantile(result.probes, 0.5),
      p99: quantile(result.probes, 0.99),
      most: quantile(result.probes, 1),
    };
    console.log(`${engine}, ${name}`);
    console.log(`  event loop's delay, ms: ${shown(loop)}; GET /health, ms: ${shown(probes)}`);
    if (round.streams > 0) {
      const first = { p50: quantile(result.first, 0.5), p99: quantile(result.first, 0.99) };
      console.log(
        `  ${shown({ 'tokens a second': result.tokens / took })}; first token, ms: ${shown(first)}`,
      );
    }
    if (round.writers > 0) {
      const prompts = { count: result.prompts.length, 'p50 ms': quantile(result.prompts, 0.5) };
      console.log(`  prompts of ${values.tokens} tokens: ${shown(prompts)}`);
    }
  }
  clients.disconnect();
}

async function load(clients: ReturnType<typeof fork>, round: LoadRound): Promise<LoadResult> {
  clients.send(round);
  const [result] = (await once(clients, 'message')) as [LoadResult];
  return result;
}

/** A text of about this many tokens, in which no two lines are equal. */
async function textOf(url: string, tokens: number): Promise<string> {
  const line = (i: number) => `${i}: ${SENTENCES[i % SENTENCES.length]}`;
  const few = Array.from({ length: 300 }, (_, i) => line(i)).join('');
  const response = await fetch(`${url}/tokenize`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ content: few }),
  });
  if (!response.ok) throw new Error(await response.text());
  const found = (await response.json()) as { tokens: number[] };
  const lines = Math.ceil((300 * tokens) / found.tokens.length);
  return Array.from({ length: lines }, (_, i) => line(i)).join('');
}

console.log(`${location} on ${values.device}`);
for (const engine of values.engines.split(',')) {
  if (!Object.hasOwn(ENGINES, engine))
    throw new Error(`no engine ${engine}: ${Object.keys(ENGINES).join(', ')}`);
  await measure(engine as EngineName);
}
