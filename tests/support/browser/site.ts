import { readFileSync, statSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join } from 'node:path';

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.mjs': 'text/javascript',
  '.css': 'text/css',
  '.json': 'application/json',
  '.wasm': 'application/wasm',
  '.svg': 'image/svg+xml',
  '.webmanifest': 'application/manifest+json',
};

/** Faults and delays of the site for its files; may be changed between requests. */
export interface SiteBehaviour {
  etag: string;
  ignoreRanges: boolean;
  /** The number of body bytes after which the connection is cut, once per entry. */
  cuts: number[];
  /**
   * A failing body discards what was not read yet, so the client gets this long to read before the connection is cut.
   */
  cutMilliseconds: number;
  /** The number of body bytes after which nothing is sent until `resume`. */
  stallAfter: number | undefined;
}

/** A site on the loopback interface: a folder, and additional files that are served as its behaviour says. */
export class Site implements AsyncDisposable {
  readonly behaviour: SiteBehaviour = {
    etag: '"1"',
    ignoreRanges: false,
    cuts: [],
    cutMilliseconds: 250,
    stallAfter: undefined,
  };
  /** The path and range of each request for the files. */
  readonly requests: string[] = [];
  readonly files = new Map<string, Uint8Array>();
  readonly #server: Server;
  readonly #folder: string;
  readonly #isolated: boolean;
  readonly #isPublic: boolean;
  readonly #stalled: (() => void)[] = [];

  private constructor(folder: string, { isolated, isPublic }: { isolated: boolean; isPublic: boolean }) {
    this.#folder = folder;
    this.#isolated = isolated;
    this.#isPublic = isPublic;
    this.#server = createServer((request, response) => this.#answer(request, response));
  }

  /** Serves a folder; `isolated` pages can share memory with their workers. With `isPublic`, pages of other origins may read it. */
  static async open(folder: string, { isolated = true, isPublic = false } = {}): Promise<Site> {
    const site = new Site(folder, { isolated, isPublic });
    await new Promise<void>((resolve) => site.#server.listen(0, '127.0.0.1', resolve));
    return site;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Resumes stalled bodies. */
  resume(): void {
    this.behaviour.stallAfter = undefined;
    for (const go of this.#stalled.splice(0)) go();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
    });
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const { pathname } = new URL(request.url ?? '/', 'http://site');
    if (this.#isolated) {
      response.setHeader('cross-origin-opener-policy', 'same-origin');
      response.setHeader('cross-origin-embedder-policy', 'require-corp');
    }
    if (this.#isPublic) response.setHeader('access-control-allow-origin', '*');
    const content = this.files.get(pathname);
    if (content) this.#sendRange(pathname, content, request, response);
    else this.#sendFile(pathname.endsWith('/') ? `${pathname}index.html` : pathname, response);
  }

  #sendFile(pathname: string, response: ServerResponse): void {
    const path = join(this.#folder, pathname);
    if (!statSync(path, { throwIfNoEntry: false })?.isFile()) return void response.writeHead(404).end();
    response.setHeader('content-type', TYPES[extname(path)] ?? 'application/octet-stream');
    response.end(readFileSync(path));
  }

  #sendRange(path: string, content: Uint8Array, request: IncomingMessage, response: ServerResponse): void {
    const { etag, ignoreRanges, cuts, cutMilliseconds, stallAfter } = this.behaviour;
    this.requests.push(`${path} ${request.headers.range}`);
    const range = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '');
    const begin = range && !ignoreRanges ? Number(range[1]) : 0;
    const end = range?.[2] && !ignoreRanges ? Number(range[2]) + 1 : content.length;
    response.setHeader('etag', etag);
    response.setHeader('content-length', end - begin);
    if (range && !ignoreRanges) {
      response.setHeader('content-range', `bytes ${begin}-${end - 1}/${content.length}`);
      response.writeHead(206);
    }
    const cut = cuts.shift();
    const first = content.subarray(begin, Math.min(end, begin + (cut ?? stallAfter ?? content.length)));
    const rest = content.subarray(begin + first.length, end);
    response.write(first, () => {
      if (cut !== undefined) setTimeout(() => response.destroy(), cutMilliseconds);
      else if (stallAfter === undefined) response.end();
      else this.#stalled.push(() => response.end(rest));
    });
  }
}
