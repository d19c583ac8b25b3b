import { parseArgs } from 'node:util';
import { seededRandom } from '../support/random.ts';
import { deedsAgainst } from './deeds.ts';

// The soak's clients, in a process of their own: only the server's memory is judged. Ends with 1 when the server does not do
// its part or leaves somebody without an answer.

const WORKERS = 8;
/** Bodies of 100 MB take the time of many others; batches wait for all others. */
const SHARES: Readonly<Record<string, number>> = { large: 0.1, batch: 0.3, messages: 0.3, attacked: 0.5 };

const { values } = parseArgs({
  options: { url: { type: 'string' }, minutes: { type: 'string' }, patience: { type: 'string' } },
});
/** Nobody waits longer than this for what a client does. */
const patienceMs = Number(values.patience) * 1000;
const end = performance.now() + Number(values.minutes) * 60_000;
const random = seededRandom(1);
const deeds = deedsAgainst(values.url ?? '', random);
const names = Object.keys(deeds);
const counts: Record<string, number> = Object.fromEntries(names.map((name) => [name, 0]));

async function work(): Promise<void> {
  while (performance.now() < end) {
    const name = names[Math.floor(random() * names.length)] as string;
    if (random() > (SHARES[name] ?? 1)) continue;
    const late = setTimeout(() => {
      console.error(`lost: ${name}`);
      process.exit(1);
    }, patienceMs);
    await deeds[name]?.();
    clearTimeout(late);
    counts[name] = (counts[name] ?? 0) + 1;
    process.send?.({ done: counts });
  }
}

await Promise.all(Array.from({ length: WORKERS }, work));
process.disconnect();
