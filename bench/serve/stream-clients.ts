import { sendRequest } from './send-request.ts';

// Clients of a server in a separate process, so that their cost is not the server's: receives a message with
// `ClientRound`, and sends one with `ClientResult`s.

/** Requests that are sent at once. */
export interface ClientRound {
  readonly url: string;
  readonly prompts: readonly (readonly number[])[];
  readonly generated: number;
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

async function ask(
  { url, generated, banned = [], choices = 1 }: ClientRound,
  prompt: readonly number[],
  begin: number,
): Promise<ClientResult> {
  const logit_bias = Object.fromEntries(banned.map((id) => [id, -100]));
  const asked = { prompt, max_tokens: generated, n: choices, logit_bias };
  const of = { ...asked, temperature: 0, ignore_eos: true, stream: true };
  const { status, arrivals, ended, events, bytes } = await sendRequest(
    `${url}/v1/completions`,
    JSON.stringify(of),
  );
  if (status !== 200) throw new Error(`status ${status}`);
  const gaps = arrivals.slice(1).map((at, i) => at - (arrivals[i] as number));
  return { first: (arrivals[0] ?? begin) - begin, last: ended - begin, events, bytes, gaps };
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
