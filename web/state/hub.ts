import { type GgufVariant, preferredVariant, variantsOf } from '../../src/node/hub/gguf-variants.ts';

/** A repository of models that a search found. */
export interface HubRepository {
  readonly id: string;
  readonly downloads: number;
  /** As the repository names it, such as `apache-2.0`. */
  readonly license: string | undefined;
  /** People have to agree to terms there before they can download. */
  readonly gated: boolean;
}

/** A file of a repository, with the hash that its content must have. */
export interface HubFile {
  readonly path: string;
  readonly size: number;
  readonly sha256: string | undefined;
  readonly url: string;
}

/** A repository's models, the smallest first, and the one that is usually taken. */
export interface HubModels {
  readonly models: readonly GgufVariant<HubFile>[];
  readonly usual: GgufVariant<HubFile> | undefined;
}

/** The hub did not answer as expected. */
export class HubFailure extends Error {
  /** The answer's status; undefined if there was none. */
  readonly status: number | undefined;

  constructor(status: number | undefined, options?: ErrorOptions) {
    super(status === undefined ? 'no answer' : `status ${status}`, options);
    this.status = status;
  }
}

const MOST_FOUND = 20;

/** Searches a hub (https://huggingface.co/docs/hub/api) for repositories of GGUF files, the most downloaded first. Rejects with `HubFailure`. */
export async function searchHub(
  hub: string,
  text: string,
  signal: AbortSignal,
): Promise<readonly HubRepository[]> {
  const query = new URLSearchParams({
    search: text,
    filter: 'gguf',
    sort: 'downloads',
    limit: `${MOST_FOUND}`,
  });
  const found = await ask(`${base(hub)}/api/models?${query}`, signal);
  return found.flatMap((entry) => {
    const { id, downloads, gated, tags } = entry;
    if (typeof id !== 'string' || !REPOSITORY.test(id)) return [];
    const named = Array.isArray(tags) ? tags.map(String) : [];
    return {
      id,
      downloads: typeof downloads === 'number' ? downloads : 0,
      license: named.find((tag) => tag.startsWith(LICENSE))?.slice(LICENSE.length),
      gated: gated !== undefined && gated !== false,
    };
  });
}

/** The models of a repository, without split ones that lack a part. Rejects with `HubFailure`. */
export async function modelsOf(hub: string, repo: string, signal: AbortSignal): Promise<HubModels> {
  const listed = await ask(`${base(hub)}/api/models/${repo}/tree/main?recursive=true`, signal);
  const files = listed.flatMap(({ type, path, size, lfs }): HubFile[] => {
    if (type !== 'file' || typeof path !== 'string' || typeof size !== 'number') return [];
    const { oid } = (lfs ?? {}) as { readonly oid?: unknown };
    const sha256 = typeof oid === 'string' && SHA256.test(oid) ? oid : undefined;
    const name = path.split('/').map(encodeURIComponent).join('/');
    return [{ path, size, sha256, url: `${base(hub)}/${repo}/resolve/main/${name}` }];
  });
  const { models } = variantsOf(files);
  return { models, usual: preferredVariant(models) };
}

const REPOSITORY = /^[\w.-]+\/[\w.-]+$/;
const LICENSE = 'license:';
const SHA256 = /^[0-9a-f]{64}$/;

function base(hub: string): string {
  return hub.replace(/\/+$/, '');
}

async function ask(url: string, signal: AbortSignal): Promise<readonly Readonly<Record<string, unknown>>[]> {
  let response: Response;
  let value: unknown;
  try {
    response = await fetch(url, { signal, credentials: 'omit', referrerPolicy: 'no-referrer' });
    value = response.ok ? await response.json() : undefined;
  } catch (cause) {
    signal.throwIfAborted();
    throw new HubFailure(undefined, { cause });
  }
  if (!Array.isArray(value)) throw new HubFailure(response.status);
  return value.filter((entry) => typeof entry === 'object' && entry !== null);
}
