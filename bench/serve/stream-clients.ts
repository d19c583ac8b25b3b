import { Agent } from 'node:http';
import { sendRequest } from './send-request.ts';

// Clients of a server in a separate process, so that their cost is not the server's: receives a message with
// `ClientRound`, and sends one with `ClientResult`s.

/** Requests that are sent at once, or by fewer clients. */
export interface ClientRound {
  readonly url: string;
  /** Token ids, or texts. */
  readonly prompts: readonly (readonly number[] | string)[];
  readonly generated: number;
  /** Clients: each sends a prompt, and the next one once it has the answer. Default: one for each prompt. */
  readonly clients?: number;
  /** Tokens that must not be generated: those without text, for which no events are sent. */
  readonly banned?: readonly number[];
  /** Answers to each. Default 1. */
  readonly choices?: number;
}

/** What one of them observed, in milliseconds since the round started. */
export interface ClientResult {
  readonly first: number;
  readonly last: number;
  readonly events: number;
  readonly bytes: number;
  /** Gaps between events that arrived separately. */
  readonly gaps: readonly number[];
}

// llama-server closes connections after a stream.
const agent = new Agent({ keepAlive: false });

async function ask(
  { url, generated, banned = [], choices = 1 }: ClientRound,
  prompt: readonly number[] | string,
  begin: number,
): Promise<ClientResult> {
  const logit_bias = Object.fromEntries(banned.map((id) => [id, -100]));
  const asked = { prompt, max_tokens: generated, n: choices, logit_bias };
  const of = { ...asked, temperature: 0, ignore_eos: true, stream: true };
  const { status, arrivals, ended, events, bytes } = await sendRequest(
    `${url}/v1/completions`,
    JSON.stringify(of),
    agent,
  );
  if (status !== 200) throw new Error(`status ${status}`);
  const gaps = arrivals.slice(1).map((at, i) => at - (arrivals[i] as number));
  return { first: (arrivals[0] ?? begin) - begin, last: ended - begin, events, bytes, gaps };
}

async function askAll(round: ClientRound): Promise<readonly ClientResult[]> {
  const begin = performance.now();
  const { prompts, clients = prompts.length } = round;
  const results: ClientResult[] = [];
  let next = 0;
  const client = async () => {
    for (let index = next++; index < prompts.length; index = next++)
      results[index] = await ask(round, prompts[index] ?? [], begin);
  };
  await Promise.all(Array.from({ length: clients }, client));
  return results;
}

process.on('message', (round: ClientRound) => {
  askAll(round).then(
    (results) => process.send?.(results),
    (error: unknown) => {
      console.error(error);
      process.exit(1);
    },
  );
});
