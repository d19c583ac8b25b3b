import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import { gzipSync } from 'node:zlib';

/** A request that one of the two servers got. */
export interface Asked {
  readonly at: 'hub' | 'storage';
  readonly path: string;
  readonly range: string | undefined;
  readonly authorization: string | undefined;
  readonly headers: IncomingMessage['headers'];
}

/** What the servers do wrong, or demand; may be changed between requests. */
export interface HubBehaviour {
  /** Requests without this token are refused. */
  token?: string | undefined;
  /** Files are refused as those of a gated repository, whoever asks. */
  gated?: boolean;
  /** The hub's next answers, so many, have this status. */
  refusals?: { status: number; count: number; retryAfter?: string } | undefined;
  /** The same for the storage. */
  storageRefusals?: { status: number; count: number; retryAfter?: string } | undefined;
  /** Each body of the storage is cut after so many bytes, so many times. */
  cuts?: { after: number; count: number; then?: () => void } | undefined;
  /** Each body of the storage stands still after so many bytes, so many times. */
  stalls?: { after: number; count: number } | undefined;
  /** The storage's bodies wait for this. */
  gate?: Promise<void> | undefined;
  /** Bytes of a body of the storage between two pauses of a millisecond. */
  slowBy?: number | undefined;
  /** The storage sends whole files whatever is asked for. */
  noRanges?: boolean;
  /** Without their length. */
  chunked?: boolean;
  /** The storage's bytes are not those that the hub lists. */
  wrongContent?: boolean;
  /** The storage's ETag; by default the content's hash. */
  etag?: (() => string | undefined) | undefined;
  /** The hash that the hub says with its redirect. */
  linkedEtag?: string | undefined;
  /** A signed address serves so many requests. */
  signatureUses?: number | undefined;
  gzip?: boolean;
  /** Entries of a page of the listing. */
  pageSize?: number | undefined;
  /** What stands in the listing in place of what is true; null in place of all that is known of the repository. */
  listed?: Readonly<Record<string, unknown>> | null;
}

/** A server that behaves as the Hugging Face hub, with a storage at another origin. It stops when the test ends. */
export interface HubServer {
  readonly url: string;
  readonly storageUrl: string;
  readonly behaviour: HubBehaviour;
  readonly asked: Asked[];
  /** Bytes of bodies that the storage has sent. */
  sent: number;
}

/** The commit of every repository of the server. */
export const COMMIT = 'c0ffee'.padEnd(40, '0');

/** Files by repository and path. */
export type Repositories = Readonly<Record<string, Readonly<Record<string, Uint8Array>>>>;

const hashes = new WeakMap<Uint8Array, string>();

/** The SHA-256 of bytes, which do not change, in hexadecimal. */
export function sha256Of(bytes: Uint8Array): string {
  const hash = hashes.get(bytes) ?? createHash('sha256').update(bytes).digest('hex');
  hashes.set(bytes, hash);
  return hash;
}

/** Starts both servers; `manifests` are Ollama's, by path. */
export async function startHub(
  t: TestContext,
  repositories: Repositories,
  { manifests = {} }: { manifests?: Readonly<Record<string, unknown>> } = {},
): Promise<HubServer> {
  const running = new Hub(repositories, manifests);
  await running.start(t);
  return running;
}

class Hub implements HubServer {
  url = '';
  storageUrl = '';
  readonly behaviour: HubBehaviour = {};
  readonly asked: Asked[] = [];
  sent = 0;
  readonly #repositories: Repositories;
  readonly #manifests: Readonly<Record<string, unknown>>;
  /** Contents by hash. */
  readonly #contents = new Map<string, Uint8Array>();
  readonly #uses = new Map<string, number>();
  #signatures = 0;

  constructor(repositories: Repositories, manifests: Readonly<Record<string, unknown>>) {
    this.#repositories = repositories;
    this.#manifests = manifests;
    for (const files of Object.values(repositories)) {
      for (const bytes of Object.values(files)) this.#contents.set(sha256Of(bytes), bytes);
    }
  }

  async start(t: TestContext): Promise<void> {
    this.url = await listen(
      t,
      createServer((request, response) => {
        this.#note('hub', request);
        allowPages(response);
        this.#answer(request, response);
      }),
    );
    this.storageUrl = await listen(
      t,
      createServer((request, response) => {
        this.#note('storage', request);
        allowPages(response);
        void this.#store(request, response);
      }),
    );
  }

  #note(at: Asked['at'], { url = '/', headers }: IncomingMessage): void {
    this.asked.push({ at, path: url, range: headers.range, authorization: headers.authorization, headers });
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const { behaviour } = this;
    const url = new URL(request.url ?? '/', this.url);
    if (refuse(behaviour.refusals, response)) return;
    const path = decodeURIComponent(url.pathname);
    const manifest = this.#manifests[path];
    if (manifest !== undefined) return void response.end(JSON.stringify(manifest));
    const [, digest] = /^\/v2\/.+\/blobs\/sha256:(\w+)$/.exec(path) ?? [];
    if (digest !== undefined) return this.#redirect(digest, response);
    if (path === '/api/models') return this.#search(url.searchParams, response);
    const [, api, repo = '', rest = ''] = /^\/(api\/models\/)?([^/]+\/[^/]+)\/(.+)$/.exec(path) ?? [];
    const files = this.#repositories[repo];
    const isKnown =
      behaviour.token === undefined || request.headers.authorization === `Bearer ${behaviour.token}`;
    if (!files || !isKnown) {
      response.setHeader('x-error-code', 'RepoNotFound');
      return void response.writeHead(401).end('{"error":"Invalid username or password."}');
    }
    if (api) return this.#list(files, { rest, url }, response);
    const [, file = ''] = /^resolve\/[^/]+\/(.+)$/.exec(rest) ?? [];
    const bytes = files[file];
    if (behaviour.gated) return void response.setHeader('x-error-code', 'GatedRepo').writeHead(403).end();
    if (!bytes) return void response.setHeader('x-error-code', 'EntryNotFound').writeHead(404).end();
    const hash = sha256Of(bytes);
    response.setHeader('x-linked-etag', `"${behaviour.linkedEtag ?? hash}"`);
    response.setHeader('x-linked-size', bytes.length);
    response.setHeader('x-repo-commit', COMMIT);
    this.#redirect(hash, response);
  }

  /** Repositories whose names have the words, with what a page shows of them. */
  #search(query: URLSearchParams, response: ServerResponse): void {
    const words = query.get('search')?.toLowerCase() ?? '';
    const found = Object.keys(this.#repositories).filter((repo) => repo.toLowerCase().includes(words));
    const tags = ['gguf', 'license:mit'];
    this.#json(
      response,
      found.map((id) => ({ id, modelId: id, downloads: 1234, likes: 5, gated: false, tags })),
    );
  }

  #redirect(hash: string, response: ServerResponse): void {
    response.setHeader('location', `${this.storageUrl}/${hash}?signature=${this.#signatures++}`);
    response.writeHead(302).end('redirected');
  }

  #list(
    files: Readonly<Record<string, Uint8Array>>,
    { rest, url }: { rest: string; url: URL },
    response: ServerResponse,
  ): void {
    if (rest.startsWith('revision/')) {
      const revision = rest.slice('revision/'.length);
      if (!['main', COMMIT].includes(revision)) {
        return void response.setHeader('x-error-code', 'RevisionNotFound').writeHead(404).end();
      }
      const { listed } = this.behaviour;
      return this.#json(response, listed === null ? null : { sha: COMMIT, ...listed });
    }
    const entries = [
      { type: 'directory', oid: 'a'.repeat(40), size: 0, path: 'folder' },
      ...Object.entries(files).map(([path, bytes]) => ({
        type: 'file',
        oid: 'b'.repeat(40),
        size: bytes.length,
        path,
        lfs: { oid: sha256Of(bytes), size: bytes.length, pointerSize: 134 },
        ...this.behaviour.listed,
      })),
    ];
    const { pageSize = entries.length } = this.behaviour;
    const from = Number(url.searchParams.get('cursor') ?? 0);
    if (from + pageSize < entries.length) {
      url.searchParams.set('cursor', String(from + pageSize));
      response.setHeader('link', `<${url.href}>; rel="next"`);
    }
    this.#json(response, entries.slice(from, from + pageSize));
  }

  #json(response: ServerResponse, value: unknown): void {
    const text = JSON.stringify(value);
    response.setHeader('content-type', 'application/json');
    if (!this.behaviour.gzip) return void response.end(text);
    response.setHeader('content-encoding', 'gzip');
    response.end(gzipSync(text));
  }

  async #store(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { behaviour } = this;
    const url = new URL(request.url ?? '/', this.storageUrl);
    if (refuse(behaviour.storageRefusals, response)) return;
    const hash = url.pathname.slice(1);
    const content = this.#contents.get(hash);
    if (!content) return void response.writeHead(404).end();
    const uses = (this.#uses.get(url.search) ?? 0) + 1;
    this.#uses.set(url.search, uses);
    if (uses > (behaviour.signatureUses ?? Number.POSITIVE_INFINITY))
      return void response.writeHead(403).end();
    const etag = behaviour.etag ? behaviour.etag() : `"${hash}"`;
    if (etag !== undefined) response.setHeader('etag', etag);
    const bytes = behaviour.wrongContent ? content.map((byte) => byte ^ 1) : content;
    const [, first, last] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '') ?? [];
    let body = bytes;
    if (first !== undefined && !behaviour.noRanges) {
      if (Number(first) >= bytes.length) {
        return void response.writeHead(416, { 'content-range': `bytes */${bytes.length}` }).end();
      }
      const end = last ? Math.min(Number(last) + 1, bytes.length) : bytes.length;
      body = bytes.subarray(Number(first), end);
      response.setHeader('content-range', `bytes ${first}-${end - 1}/${bytes.length}`);
    }
    if (!behaviour.chunked) response.setHeader('content-length', body.length);
    response.writeHead(first === undefined || behaviour.noRanges ? 200 : 206);
    return this.#send(body, response);
  }

  async #send(body: Uint8Array, response: ServerResponse): Promise<void> {
    await this.behaviour.gate;
    const { cuts } = this.behaviour;
    const cut = taken(cuts, body.length);
    const stall = cut === undefined ? taken(this.behaviour.stalls, body.length) : undefined;
    const end = cut ?? stall ?? body.length;
    const step = this.behaviour.slowBy ?? 1 << 20;
    for (let at = 0; at < end && !response.destroyed; at += step) {
      const part = body.subarray(at, Math.min(end, at + step));
      this.sent += part.length;
      if (!response.write(part)) await drained(response);
      if (this.behaviour.slowBy !== undefined) await new Promise((resolve) => setTimeout(resolve, 1));
    }
    if (cut !== undefined) {
      cuts?.then?.();
      response.destroy();
    }
    if (cut === undefined && stall === undefined) response.end();
  }
}

/** The hub and its storage let pages of any origin read their answers. */
function allowPages(response: ServerResponse): void {
  response.setHeader('access-control-allow-origin', '*');
  response.setHeader('access-control-expose-headers', 'content-range, etag, x-linked-size, x-repo-commit');
}

function refuse(refusals: HubBehaviour['refusals'], response: ServerResponse): boolean {
  if (!refusals || refusals.count <= 0) return false;
  refusals.count--;
  if (refusals.retryAfter !== undefined) response.setHeader('retry-after', refusals.retryAfter);
  response.writeHead(refusals.status).end('refused');
  return true;
}

/** Where a body ends too early, if it does. */
function taken(fault: { after: number; count: number } | undefined, length: number): number | undefined {
  if (!fault || fault.count <= 0 || fault.after >= length) return undefined;
  fault.count--;
  return fault.after;
}

function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      response.off('drain', done).off('close', done);
      resolve();
    };
    response.on('drain', done).on('close', done);
  });
}

async function listen(t: TestContext, server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
