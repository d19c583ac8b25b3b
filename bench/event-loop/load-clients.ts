import { Agent, request } from 'node:http';
import { performance } from 'node:perf_hooks';

// Load on a server from a process of its own, so that what it costs does not count as the server's: a message with
// `LoadRound` comes in, one with `LoadResult` goes out when the time is over and what was under way has ended.

/** What is asked of a server for a while. */
export interface LoadRound {
  readonly url: string;
  readonly seconds: number;
  /** Streams that generate, each beginning anew when it has ended. */
  readonly streams: number;
  /** Tokens of each answer. */
  readonly generated: number;
  /** Long texts that are tokenized at once, each beginning anew; by turns bare and within a conversation. */
  readonly writers: number;
  readonly longText: string;
  /** Milliseconds between two requests for the server's health. */
  readonly probeMs: number;
}

/** What came of it. Times are milliseconds, unsorted. */
export interface LoadResult {
  readonly tokens: number;
  readonly first: readonly number[];
  readonly prompts: readonly number[];
  readonly probes: readonly number[];
}

interface Reply {
  readonly status: number;
  readonly first: number;
  readonly took: number;
  readonly events: number;
}

const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });
const EVENT = Buffer.from('data: {');

function eventsIn(chunk: Buffer): number {
  let count = 0;
  for (let at = chunk.indexOf(EVENT); at >= 0; at = chunk.indexOf(EVENT, at + EVENT.length)) count++;
  return count;
}

function ask(url: string, body?: string): Promise<Reply> {
  const begin = performance.now();
  const headers = body === undefined ? {} : { 'content-type': 'application/json' };
  return new Promise((resolve, reject) => {
    const method = body === undefined ? 'GET' : 'POST';
    const asked = request(url, { method, agent, headers }, (response) => {
      let [first, events] = [0, 0];
      response.on('data', (chunk: Buffer) => {
        first ||= performance.now() - begin;
        events += eventsIn(chunk);
      });
      response.on('end', () => {
        resolve({ status: response.statusCode ?? 0, first, took: performance.now() - begin, events });
      });
    });
    asked.on('error', reject);
    asked.end(body);
  });
}

async function run(round: LoadRound): Promise<LoadResult> {
  const { url, longText, generated } = round;
  const result = { tokens: 0, first: [] as number[], prompts: [] as number[], probes: [] as number[] };
  const end = performance.now() + 1000 * round.seconds;
  const isOver = () => performance.now() >= end;
  const content = JSON.stringify({ content: longText });
  // One token less than would be generated: it is the tokenizing that is asked for.
  const conversation = JSON.stringify({ messages: [{ role: 'user', content: longText }], max_tokens: 1 });

  const stream = async (index: number) => {
    for (let turn = 0; !isOver(); turn++) {
      const messages = [{ role: 'user', content: `Tell me a long story, number ${index} of ${turn}.` }];
      const of = { messages, max_tokens: generated, ignore_eos: true, stream: true };
      const reply = await ask(`${url}/v1/chat/completions`, JSON.stringify(of));
      if (reply.status !== 200) throw new Error(`a stream had status ${reply.status}`);
      result.tokens += reply.events;
      result.first.push(reply.first);
    }
  };
  const write = async (index: number) => {
    for (let turn = index; !isOver(); turn++) {
      const isBare = turn % 2 === 0;
      const reply = isBare
        ? await ask(`${url}/tokenize`, content)
        : await ask(`${url}/v1/chat/completions`, conversation);
      // A conversation of so many tokens is refused once they are known, where the context is shorter.
      if (reply.status !== 200 && (isBare || reply.status !== 400)) {
        throw new Error(`a long prompt had status ${reply.status}`);
      }
      result.prompts.push(reply.took);
    }
  };
  const probe = async () => {
    while (!isOver()) {
      result.probes.push((await ask(`${url}/health`)).took);
      await new Promise((resolve) => setTimeout(resolve, round.probeMs));
    }
  };
  await Promise.all([
    ...Array.from({ length: round.streams }, (_, index) => stream(index)),
    ...Array.from({ length: round.writers }, (_, index) => write(index)),
    probe(),
  ]);
  return result;
}

process.on('message', (round: LoadRound) => {
  run(round).then(
    (result) => process.send?.(result),
    (error: unknown) => {
      console.error(error);
      process.exit(1);
    },
  );
});
