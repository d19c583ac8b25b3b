import { createHash } from 'node:crypto';
import { fail } from '../../base/errors.ts';
import { withoutQuery } from './http-client.ts';
import { type HubAccess, type HubListing, listingRetries } from './hub-api.ts';
import { modelNameText, type OllamaName } from './model-name.ts';
import { refuseStatus, retried } from './retry.ts';

const MANIFEST = 'application/vnd.docker.distribution.manifest.v2+json';
const MODEL_LAYER = 'application/vnd.ollama.image.model';
/** Layers that are not needed, by the last words of their types: a file's own metadata has them. */
const IGNORED = /\.(?:template|license|params|system|messages)$/;

/** A model of a registry: its one file, by the digest of its content, and layers that are not used. */
export interface OllamaListing extends HubListing {
  readonly unused: readonly string[];
}

/** The address of a content in the registry. */
export function blobUrl({ registry, repo }: OllamaName, sha256: string): string {
  return `${registry}/v2/${repo}/blobs/sha256:${sha256}`;
}

/**
 * Reads the manifest of a model (the registry protocol of OCI images with a layer type of Ollama's own). Rejects with
 * `HUB_NOT_FOUND`, `HUB_ANSWER_INVALID`, and errors of HTTP.
 */
export async function readManifest(access: HubAccess, name: OllamaName): Promise<OllamaListing> {
  const { client, signal, headers } = access;
  const url = `${name.registry}/v2/${name.repo}/manifests/${name.tag}`;
  const text = await retried(async () => {
    const secrets = headers ?? {};
    const answer = await client.get(url, { headers: { accept: MANIFEST }, secrets, signal });
    if (answer.status === 404 || answer.status === 401) {
      answer.body.resume();
      const what = 'there is no such model or tag in the registry, or it is private';
      fail('HUB_NOT_FOUND', { model: modelNameText(name), what, known: undefined });
    }
    if (answer.status !== 200) refuseStatus(answer, 200);
    return client.textOf(answer, signal);
  }, listingRetries(access));
  const layers = layersIn(url, text);
  const models = layers.filter(({ mediaType }) => mediaType === MODEL_LAYER);
  const [model, other] = models;
  if (!model || other) invalid(url, `${models.length} model layers`, 'one layer with a GGUF file');
  const path = `${name.repo.split('/').at(-1)}-${name.tag}.gguf`;
  return {
    commit: createHash('sha256').update(text).digest('hex').slice(0, 40),
    files: [{ path, size: model.size, hash: { kind: 'sha256', hex: model.digest } }],
    unused: layers
      .filter((layer) => layer !== model && !IGNORED.test(layer.mediaType))
      .map(({ mediaType }) => mediaType),
  };
}

interface Layer {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
}

function layersIn(source: string, text: string): Layer[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return invalid(source, text.slice(0, 60), 'JSON');
  }
  const { layers } = (value ?? {}) as { layers?: unknown };
  if (!Array.isArray(layers)) return invalid(source, 'no layers', 'a manifest');
  return layers.map((layer: unknown) => {
    const { mediaType, digest, size } = (layer ?? {}) as Record<string, unknown>;
    const [, hex] = /^sha256:([0-9a-f]{64})$/.exec(String(digest)) ?? [];
    if (
      typeof mediaType !== 'string' ||
      hex === undefined ||
      !Number.isSafeInteger(size) ||
      Number(size) < 0
    ) {
      return invalid(source, `a layer ${String(digest)}`, 'a type, a digest and a size');
    }
    return { mediaType, digest: hex, size: Number(size) };
  });
}

function invalid(source: string, found: string, expected: string): never {
  return fail('HUB_ANSWER_INVALID', { source: withoutQuery(source), found, expected });
}
