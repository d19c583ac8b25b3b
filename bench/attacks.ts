import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { HttpListener } from '../src/node/http-listener.ts';
import { loadModelInWorker } from '../src/node/load-model-in-worker.ts';
import { ModelServer } from '../src/server/index.ts';
import type { AttackResult, AttackRound } from './attacks/attack-client.ts';
import { attackList } from './attacks/attack-list.ts';

// How long an expensive body, schema, pattern or grammar blocks the serving thread: `node dist/bench/attacks.js [MODEL]
// [--only text] [--rounds 3] [--tokens 16]`. The client is a separate process, which makes the bodies itself. All times are in milliseconds: `held` is
// the maximum CPU time that the thread took between two ticks of a timer (on Linux), `delay` the maximum delay of its
// event loop, `health` the slowest response of `/health`. The last two also include other load of the machine; of the
// rounds, the best is shown.

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    only: { type: 'string', default: '' },
    rounds: { type: 'string', default: '3' },
    tokens: { type: 'string', default: '16' },
  },
});
const [location = 'models/minimind2-small-q4_k_m.gguf'] = positionals;
const model = await loadModelInWorker(location, { device: 'cpu', threads: 1, sequences: 4 });
const server = new ModelServer({
  models: [{ id: 'model', created: 0, open: async () => model }],
  parallel: 4,
});
await server.loaded;
const listener = await HttpListener.open(server.fetch, { port: 0 });
const client = fork(fileURLToPath(new URL('attacks/attack-client.js', import.meta.url)));
const limits = { context: model.context, tokens: Number(values.tokens) };

/** Milliseconds of CPU time that this thread has used, if Linux reports it. */
function threadMs(): number {
  try {
    const [nanoseconds] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'latin1').split(' ');
    return Number(nanoseconds) / 1e6;
  } catch {
    return Number.NaN;
  }
}

/** The attack with this number: what the client saw, and how this thread fared meanwhile. */
async function measured(at: number): Promise<AttackResult & { delay: number; held: number }> {
  const delays = monitorEventLoopDelay({ resolution: 1 });
  delays.enable();
  let [held, before] = [0, threadMs()];
  const timer = setInterval(() => {
    const now = threadMs();
    held = Math.max(held, now - before);
    before = now;
  }, 1);
  client.send({ url: listener.url, at, limits } satisfies AttackRound);
  const [result] = (await once(client, 'message')) as [AttackResult];
  clearInterval(timer);
  delays.disable();
  return { ...result, held, delay: delays.max / 1e6 };
}

function row(name: string, ...columns: readonly (string | number)[]): void {
  const shown = columns.map((of) => (typeof of === 'number' ? of.toFixed(0) : of).padStart(8));
  console.log(`${name.padEnd(52)}${shown.join('')}`);
}

await measured(0);
row('attack', 'held', 'delay', 'health', 'ms', '  answer');
for (const [at, { name }] of attackList(limits).entries()) {
  if (!name.includes(values.only)) continue;
  const rounds: Awaited<ReturnType<typeof measured>>[] = [];
  for (let round = 0; round < Number(values.rounds); round++) rounds.push(await measured(at));
  const [best] = rounds.sort((a, b) => a.held - b.held);
  if (best) row(name, best.held, best.delay, best.health, best.ms, `  ${best.answer}`);
}
client.disconnect();
await listener[Symbol.asyncDispose]();
await server[Symbol.asyncDispose]();
