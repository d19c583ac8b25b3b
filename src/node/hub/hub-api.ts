import { fail, isRocmforgeError } from '../../base/errors.ts';
import { type HttpAnswer, type HttpClient, withoutQuery } from './http-client.ts';
import type { HubSettings } from './hub-settings.ts';
import { isSafePath } from './model-name.ts';
import { refuseStatus, retried, type RetryOptions } from './retry.ts';

/** A file of a repository. */
export interface HubFile {
  readonly path: string;
  readonly size: number;
  /** What its content is checked against, which is also its name in the cache. */
  readonly hash: { readonly kind: 'sha256' | 'git-sha1'; readonly hex: string };
}

/** A repository at one commit. */
export interface HubListing {
  readonly commit: string;
  readonly files: readonly HubFile[];
}

/** How requests to the hub are made. */
export interface HubAccess extends RetryOptions {
  readonly client: HttpClient;
  readonly settings: HubSettings;
  /** Headers that the user adds, for the hub alone. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** A hub that does not answer at all is told of soon: nothing has arrived that would be lost. */
const LISTING_ATTEMPTS = 3;

/** How listings are asked for. */
export function listingRetries({ patience, signal, onRetry }: HubAccess): RetryOptions {
  return {
    patience: { ...patience, attempts: Math.min(LISTING_ATTEMPTS, patience.attempts) },
    signal,
    onRetry,
  };
}

const MAX_PAGES = 100;
const SHA1 = /^[0-9a-f]{40}$/;
const SHA256 = /^[0-9a-f]{64}$/;

/** The headers that only the hub may see. */
export function hubSecrets({ settings: { token }, headers }: HubAccess): Record<string, string> {
  return { ...(token !== undefined && { authorization: `Bearer ${token}` }), ...headers };
}

/** The address of a repository's file at a commit; redirects to where it is stored. */
export function fileUrl({ endpoint }: HubSettings, repo: string, commit: string, path: string): string {
  return `${endpoint}/${repo}/resolve/${encodeURIComponent(commit)}/${path.split('/').map(encodeURIComponent).join('/')}`;
}

/**
 * Lists a repository's files with their sizes and hashes. Rejects with `HUB_NOT_FOUND`, `HUB_ACCESS_DENIED`,
 * `HUB_ANSWER_INVALID`, and errors of HTTP.
 */
export async function listRepository(access: HubAccess, repo: string, revision: string): Promise<HubListing> {
  const api = `${access.settings.endpoint}/api/models/${repo}`;
  const { value } = await ask(access, repo, `${api}/revision/${encodeURIComponent(revision)}`);
  const { sha } = (value ?? {}) as { sha?: unknown };
  const commit = typeof sha === 'string' && SHA1.test(sha) ? sha : invalid(api, String(sha), 'a commit');
  const files: HubFile[] = [];
  let next: string | undefined = `${api}/tree/${commit}?recursive=true`;
  for (let page = 0; next !== undefined; page++) {
    if (page === MAX_PAGES) invalid(api, `more than ${MAX_PAGES} pages`, 'a listing that ends');
    const answer: { value: unknown; next: string | undefined } = await ask(access, repo, next);
    if (!Array.isArray(answer.value)) invalid(api, typeof answer.value, 'a list of files');
    files.push(...(answer.value as unknown[]).flatMap((entry) => fileOf(api, entry)));
    next = answer.next;
  }
  return { commit, files };
}

/**
 * Throws what a refusing answer of the hub means: `HUB_ACCESS_DENIED` for gated repositories, `HUB_NOT_FOUND`, otherwise
 * `HTTP_STATUS`.
 */
export function refuseHubAnswer(access: HubAccess, repo: string, answer: HttpAnswer): never {
  const { status, headers } = answer;
  const { endpoint, token } = access.settings;
  const code = headers['x-error-code'];
  const model = `hf:${repo}`;
  const isGated = code === 'GatedRepo' || status === 403;
  if (isGated || (status === 401 && code === undefined && token !== undefined)) {
    answer.body.resume();
    const page = `${endpoint}/${repo}`;
    fail('HUB_ACCESS_DENIED', { model, page, token: token !== undefined });
  }
  if (status === 401 || status === 404) {
    answer.body.resume();
    const isRevision = code === 'RevisionNotFound';
    const isFile = code === 'EntryNotFound';
    const hidden = `there is no such repository at ${endpoint}, or it is private`;
    const revision = decodeURIComponent(/\/revision\/(.*)$/.exec(answer.url)?.[1] ?? '');
    const what = isRevision
      ? `there is no such revision: ${revision}`
      : isFile
        ? 'there is no such file'
        : hidden;
    fail('HUB_NOT_FOUND', { model, what, known: undefined });
  }
  return refuseStatus(answer, 200);
}

async function ask(
  access: HubAccess,
  repo: string,
  url: string,
): Promise<{ value: unknown; next: string | undefined }> {
  const { client, signal } = access;
  return retried(async () => {
    const headers = { accept: 'application/json', 'accept-encoding': 'gzip' };
    const answer = await client.get(url, { headers, secrets: hubSecrets(access), signal });
    if (answer.status !== 200) refuseHubAnswer(access, repo, answer);
    const next = nextPage(answer, access.settings.endpoint);
    const text = await client.textOf(answer, signal);
    try {
      return { value: JSON.parse(text) as unknown, next };
    } catch (cause) {
      if (isRocmforgeError(cause)) throw cause;
      return invalid(url, text.slice(0, 60), 'JSON');
    }
  }, listingRetries(access));
}

/** The address of the next page, which must be at the hub as well: it gets the token. */
function nextPage({ headers: { link }, url }: HttpAnswer, endpoint: string): string | undefined {
  const text = Array.isArray(link) ? link.join(',') : link;
  const [, target] = /<([^>]*)>\s*;\s*rel="?next"?/.exec(text ?? '') ?? [];
  if (target === undefined) return undefined;
  if (!URL.canParse(target, url)) return invalid(url, target, 'the address of the next page');
  const next = new URL(target, url);
  // A mirror may pass on the hub's own addresses.
  return `${new URL(endpoint).origin}${next.pathname}${next.search}`;
}

/** Folders and files that could not be stored safely are left out. */
function fileOf(source: string, entry: unknown): HubFile[] {
  const { type, path, size, oid, lfs } = (entry ?? {}) as Record<string, unknown>;
  if (type !== 'file' || typeof path !== 'string' || !isSafePath(path)) return [];
  const stored = lfs as { oid?: unknown; size?: unknown } | undefined | null;
  const length = stored?.size ?? size;
  if (typeof length !== 'number' || !Number.isSafeInteger(length) || length < 0) {
    return invalid(source, `${path} of ${String(length)} bytes`, 'a size');
  }
  const hex = String(stored ? stored.oid : oid).toLowerCase();
  if (!(stored ? SHA256 : SHA1).test(hex)) return invalid(source, `${path} with hash ${hex}`, 'a hash');
  return [{ path, size: length, hash: { kind: stored ? 'sha256' : 'git-sha1', hex } }];
}

function invalid(source: string, found: string, expected: string): never {
  return fail('HUB_ANSWER_INVALID', { source: withoutQuery(source), found, expected });
}
