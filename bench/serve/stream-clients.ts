import { Agent, request } from 'node:http';

// Clients of a server in a process of their own, so that what they cost does not count as the server's: a message with
// `ClientRound` comes in, one with `ClientResult`s goes out.

/** Requests that are sent at once. */
export interface ClientRound {
  readonly url: string;
  readonly prompts: readonly (readonly number[])[];
  readonly generated: number;
  /** Answers to each. Default 1. */
  readonly choices?: number;
}

/** What one of them saw, in milliseconds since the round began. */
export interface ClientResult {
  readonly first: number;
  readonly last: number;
  readonly events: number;
  readonly bytes: number;
  /** Between two events that came apart. */
  readonly gaps: readonly number[];
}

const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });
const EVENT = Buffer.from('data: {');

function eventsIn(chunk: Buffer): number {
  let count = 0;
  for (let at = chunk.indexOf(EVENT); at >= 0; at = chunk.indexOf(EVENT, at + EVENT.length)) count++;
  return count;
}

function ask(
  { url, generated, choices = 1 }: ClientRound,
  prompt: readonly number[],
  begin: number,
): Promise<ClientResult> {
  const body = JSON.stringify({
    prompt,
    max_tokens: generated,
    n: choices,
    temperature: 0,
    ignore_eos: true,
    stream: true,
  });
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
  return new Promise((resolve, reject) => {
    const asked = request(`${url}/v1/completions`, { method: 'POST', agent, headers }, (response) => {
      let [first, events, bytes, latest] = [0, 0, 0, 0];
      const gaps: number[] = [];
      response.on('data', (chunk: Buffer) => {
        const now = performance.now();
        first ||= now - begin;
        if (latest > 0) gaps.push(now - latest);
        latest = now;
        events += eventsIn(chunk);
        bytes += chunk.length;
      });
      response.on('end', () => {
        if (response.statusCode === 200)
          resolve({ first, last: performance.now() - begin, events, bytes, gaps });
        else reject(new Error(`status ${response.statusCode}`));
      });
    });
    asked.on('error', reject);
    asked.end(body);
  });
}

process.on('message', (round: ClientRound) => {
  const begin = performance.now();
  Promise.all(round.prompts.map((prompt) => ask(round, prompt, begin))).then(
    (results) => process.send?.(results),
    (error: unknown) => {
      console.error(error);
      process.exit(1);
    },
  );
});
