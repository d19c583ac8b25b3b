import { connect } from 'node:net';

// Clients of a server in a separate process, so that their cost is not the server's: receives a message with
// `ClientRound`, and sends one with `ClientResult`s. They speak HTTP over plain sockets, and write
// their requests before the clock starts: all share a thread, and `node:http` takes nearly as long to make a request as the
// server to answer it.

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
  /** Of the whole response, with its head and framing. */
  readonly bytes: number;
  /** Gaps between events that arrived separately. */
  readonly gaps: readonly number[];
}

const EVENT = Buffer.from('data: {');
const OK = Buffer.from('HTTP/1.1 200 ');

/** The bytes of a request. Its connection ends with the response. */
function requestBytes(
  { url, generated, banned = [], choices = 1 }: ClientRound,
  prompt: readonly number[] | string,
): Buffer {
  const logit_bias = Object.fromEntries(banned.map((id) => [id, -100]));
  const asked = { prompt, max_tokens: generated, n: choices, logit_bias };
  const body = JSON.stringify({ ...asked, temperature: 0, ignore_eos: true, stream: true });
  const head = [
    'POST /v1/completions HTTP/1.1',
    `host: ${new URL(url).host}`,
    'connection: close',
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
  ];
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`);
}

function eventsIn(chunk: Buffer): number {
  let count = 0;
  for (let at = chunk.indexOf(EVENT); at >= 0; at = chunk.indexOf(EVENT, at + EVENT.length)) count++;
  return count;
}

/** Sends a request on a new connection and reads the response to its end, counting events without parsing them. */
function ask(url: URL, request: Buffer, begin: number): Promise<ClientResult> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: url.hostname, port: Number(url.port), noDelay: true });
    const arrivals: number[] = [];
    let [bytes, events] = [0, 0];
    socket.write(request);
    socket.on('data', (chunk) => {
      if (bytes === 0 && !chunk.subarray(0, OK.length).equals(OK))
        return reject(new Error(chunk.toString('latin1')));
      const found = eventsIn(chunk);
      if (found > 0) arrivals.push(performance.now());
      events += found;
      bytes += chunk.length;
    });
    socket.on('end', () => {
      const gaps = arrivals.slice(1).map((at, i) => at - (arrivals[i] as number));
      const [first = begin] = arrivals;
      resolve({ first: first - begin, last: performance.now() - begin, events, bytes, gaps });
    });
    socket.on('error', reject);
  });
}

async function askAll(round: ClientRound): Promise<readonly ClientResult[]> {
  const { prompts, clients = prompts.length } = round;
  const url = new URL(round.url);
  const requests = prompts.map((prompt) => requestBytes(round, prompt));
  const results: ClientResult[] = [];
  let next = 0;
  const begin = performance.now();
  const client = async () => {
    for (let index = next++; index < requests.length; index = next++)
      results[index] = await ask(url, requests[index] as Buffer, begin);
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
