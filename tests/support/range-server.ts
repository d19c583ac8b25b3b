import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';

/** The server's faults and delays; may be changed between requests. */
export interface Behaviour {
  etag?: string | undefined;
  ignoreRanges?: boolean;
  status?: number;
  /** Replaces the Content-Range of a response. */
  contentRange?: string | undefined;
  /** The number of body bytes after which the connection is cut. */
  cutAfter?: number | undefined;
  /** The number of body bytes after which nothing more is sent. */
  stallAfter?: number | undefined;
}

/** A file server on the loopback interface that counts what it sends. */
export interface RangeServer {
  readonly url: string;
  readonly behaviour: Behaviour;
  readonly requests: string[];
  bytesSent: number;
}

/** Starts a server for the given files (by path, with leading slash); it stops when the test ends. */
export async function startRangeServer(
  t: TestContext,
  files: ReadonlyMap<string, Uint8Array>,
): Promise<RangeServer> {
  const server = createServer((request, response) => answer(state, files, request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const state: RangeServer = {
    url: `http://127.0.0.1:${port}`,
    behaviour: { etag: '"1"' },
    requests: [],
    bytesSent: 0,
  };
  return state;
}

function answer(
  server: RangeServer,
  files: ReadonlyMap<string, Uint8Array>,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const { behaviour } = server;
  const content = files.get(new URL(request.url ?? '/', server.url).pathname);
  server.requests.push(`${request.url} ${request.headers.range}`);
  if (behaviour.etag) response.setHeader('etag', behaviour.etag);
  const range = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '');
  const status = content ? behaviour.status : 404;
  if (status !== undefined || !content) return void response.writeHead(status ?? 404).end();
  if (!range || behaviour.ignoreRanges) return void response.writeHead(200).end(content);
  const start = Number(range[1]);
  const body = content.subarray(start, Number(range[2]) + 1);
  const contentRange = `bytes ${start}-${start + body.length - 1}/${content.length}`;
  response.setHeader('content-range', behaviour.contentRange ?? contentRange);
  response.setHeader('content-length', body.length);
  response.writeHead(206);
  const sent = body.subarray(0, behaviour.cutAfter ?? behaviour.stallAfter ?? body.length);
  server.bytesSent += sent.length;
  response.write(sent, () => {
    if (behaviour.cutAfter !== undefined) response.destroy();
    else if (behaviour.stallAfter === undefined) response.end();
  });
}
