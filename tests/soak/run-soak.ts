// Mixed load on a server of the bundled model for as long as it is told: `npm run soak -- --minutes 30`. It ends with an
// error when a request is lost or answered wrongly, or when memory grows.
import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { HttpListener } from '../../src/node/http-listener.ts';
import { ModelServer } from '../../src/server/index.ts';
import { ACTIVITY, activeRequests, bundledSource } from '../support/test-server.ts';

const REPORTS = 30;
/** What is live may grow by so much from the second third to the last: what is under way differs from moment to moment. */
const MAX_LIVE_GROWTH = 1.05;
/** Pages that the system has given: allocators keep some, and come to rest slowly. */
const MAX_RESIDENT_GROWTH = 1.1;

/** The server's memory, in bytes. */
interface Memory {
  /** On the heap and beside it, after garbage was collected. */
  readonly live: number;
  readonly resident: number;
}

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '30' },
    // Seconds after which an answer is lost: more where others use the machine, too.
    patience: { type: 'string', default: '180' },
  },
});
const { minutes, patience } = values;
const server = new ModelServer({
  models: [bundledSource({ sequences: 4, context: 1024 })],
  parallel: 4,
  metrics: ACTIVITY,
});
await server.loaded;
const listener = await HttpListener.open(server.fetch, { port: 0 });
const clients = fork(fileURLToPath(new URL('soak-clients.js', import.meta.url)), [
  '--url',
  listener.url,
  '--minutes',
  minutes,
  '--patience',
  patience,
]);
let counts: Readonly<Record<string, number>> = {};
clients.on('message', ({ done }: { done: typeof counts }) => {
  counts = done;
});

const seen: Memory[] = [];
const mebibytes = (bytes: number) => `${Math.round(bytes / 2 ** 20)} MiB`;
function look(): void {
  assert.ok(globalThis.gc, 'the soak runs with --expose-gc');
  globalThis.gc();
  globalThis.gc();
  const { rss: resident, heapUsed, external } = process.memoryUsage();
  const live = heapUsed + external;
  seen.push({ live, resident });
  const done = Object.values(counts).reduce((sum, count) => sum + count, 0);
  console.log(`${done} deeds, ${mebibytes(live)} live, ${mebibytes(resident)} resident`);
}

/** The last third beside the second, by their medians: large bodies come and go. In the first, caches fill. */
function growth(of: keyof Memory): number {
  const third = Math.floor(seen.length / 3);
  const middle = (from: number) => {
    const bytes = seen.slice(from, from + third).map((memory) => memory[of]);
    return bytes.sort((a, b) => a - b)[third >> 1] ?? Number.NaN;
  };
  return middle(2 * third) / middle(third);
}

const timer = setInterval(look, (Number(minutes) * 60_000) / REPORTS);
const [status] = (await once(clients, 'exit')) as [number | null];
clearInterval(timer);
const active = await activeRequests(server);
await Promise.all([server.drain(), listener.drain()]);
console.log(counts);
await listener[Symbol.asyncDispose]();
await server[Symbol.asyncDispose]();
const [live, resident] = [growth('live'), growth('resident')];
console.log(`last third beside the second: ${live.toFixed(3)} live, ${resident.toFixed(3)} resident`);
assert.equal(status, 0, 'the clients were served');
console.log(`${active} requests were still there when the clients had ended`);
assert.ok(live < MAX_LIVE_GROWTH, 'what is live does not grow');
assert.ok(resident < MAX_RESIDENT_GROWTH, 'resident memory is flat');
