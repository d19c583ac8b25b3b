import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { getRequestListener } from '@hono/node-server';
import { pageFiles } from '../../../src/node/page-files.ts';

/** What is said in one piece: a delta of OpenAI's chunks. */
export type SaidDelta = Readonly<Record<string, unknown>>;

/** The parts of a request that tests look at. */
export interface SaidRequest extends Readonly<Record<string, unknown>> {
  readonly messages: readonly Readonly<Record<string, unknown>>[];
  readonly tools?: readonly unknown[];
}

/** What a model would have besides what it says. */
interface SaidModel {
  /** Default: more than any conversation. */
  readonly context?: number;
  /** Whether it is loaded by the first request, and tells its context from then on. */
  readonly isLoadedLate?: boolean;
  /** How many tokens a prompt has; default 10. */
  readonly count?: (request: SaidRequest) => number;
}

/** A page's files and, in place of a model, what a function says, by the chat API that the page uses. */
export class SaidServer implements AsyncDisposable {
  readonly url: string;
  readonly #close: () => Promise<void>;
  readonly #cut: () => void;

  private constructor(url: string, cut: () => void, close: () => Promise<void>) {
    this.url = url;
    this.#cut = cut;
    this.#close = close;
  }

  static async open(
    folder: string,
    say: (request: SaidRequest) => AsyncIterable<SaidDelta>,
    { context = 1_000_000, count = () => 10, isLoadedLate = false }: SaidModel = {},
  ): Promise<SaidServer> {
    const files = pageFiles(folder);
    if (!files) throw new Error(`no page in ${folder}`);
    const absent = () => new Response('not here', { status: 404 });
    const serve = getRequestListener(async (request) => (await files(request)) ?? absent());
    let isLoaded = !isLoadedLate;
    const server = createServer((request, response) => {
      if (request.url === '/v1/models') {
        response.setHeader('content-type', 'application/json');
        const model = { id: 'text', ...(isLoaded && { context_length: context }) };
        response.end(JSON.stringify({ object: 'list', data: [model] }));
      } else if (request.url === '/v1/chat/completions') {
        isLoaded = true;
        void answer(request, response, { say, count });
      } else void serve(request, response);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const cut = () => server.closeAllConnections();
    return new SaidServer(`http://127.0.0.1:${port}`, cut, async () => {
      cut();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    });
  }

  /** Cuts all connections, as a network does that is lost; new ones are taken. */
  cut(): void {
    this.#cut();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#close();
  }
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  {
    say,
    count,
  }: Required<Pick<SaidModel, 'count'>> & {
    readonly say: (request: SaidRequest) => AsyncIterable<SaidDelta>;
  },
): Promise<void> {
  const send = (chunk: object) => response.write(`data: ${JSON.stringify(chunk)}\n\n`);
  response.setHeader('content-type', 'text/event-stream');
  let tokens = 0;
  let isCall = false;
  const asked = (await json(request)) as SaidRequest;
  for await (const delta of say(asked)) {
    if (response.destroyed) return;
    send({ choices: [{ index: 0, delta }] });
    tokens++;
    isCall ||= 'tool_calls' in delta;
  }
  send({ choices: [{ index: 0, delta: {}, finish_reason: isCall ? 'tool_calls' : 'stop' }] });
  send({ choices: [], usage: { prompt_tokens: count(asked), completion_tokens: tokens } });
  response.end('data: [DONE]\n\n');
}
