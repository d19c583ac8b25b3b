import { performance } from 'node:perf_hooks';
import { type Reply, sendRequest } from './send-request.ts';

// Load on a server from a separate process, so that its cost is not the server's: receives a message with `LoadRound`,
// and sends one with `LoadResult` when the time is over and running requests have ended.

/** The load on a server for some time. */
export interface LoadRound {
  readonly url: string;
  readonly seconds: number;
  /** Number of generating streams, each restarted when it has ended. */
  readonly streams: number;
  /** Tokens per answer. */
  readonly generated: number;
  /** Number of long texts that are tokenized at once, each restarted; alternately plain and within a conversation. */
  readonly writers: number;
  readonly longText: string;
  /** Milliseconds between two requests of `/health`. */
  readonly probeMs: number;
}

/** What came of it. Times are milliseconds, unsorted. */
export interface LoadResult {
  readonly tokens: number;
  readonly first: readonly number[];
  readonly prompts: readonly number[];
  readonly probes: readonly number[];
}

const took = ({ began, ended }: Reply) => ended - began;

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
      const reply = await sendRequest(`${url}/v1/chat/completions`, JSON.stringify(of));
      if (reply.status !== 200) throw new Error(`a stream had status ${reply.status}`);
      result.tokens += reply.events;
      result.first.push((reply.arrivals[0] ?? reply.ended) - reply.began);
    }
  };
  const write = async (index: number) => {
    for (let turn = index; !isOver(); turn++) {
      const isBare = turn % 2 === 0;
      const reply = isBare
        ? await sendRequest(`${url}/tokenize`, content)
        : await sendRequest(`${url}/v1/chat/completions`, conversation);
      // A conversation of this many tokens is refused once it is tokenized, if the context is shorter.
      if (reply.status !== 200 && (isBare || reply.status !== 400)) {
        throw new Error(`a long prompt had status ${reply.status}`);
      }
      result.prompts.push(took(reply));
    }
  };
  const probe = async () => {
    while (!isOver()) {
      result.probes.push(took(await sendRequest(`${url}/health`)));
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
