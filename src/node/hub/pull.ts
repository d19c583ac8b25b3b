import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import { fail, isRocmforgeError } from '../../base/errors.ts';
import { type Logger, silentLogger } from '../../base/log.ts';
import { downloadFile, type RemoteFile } from './download.ts';
import { discardDownload } from './download-journal.ts';
import { FileClaim } from '../file-claim.ts';
import {
  type GgufPart,
  type GgufVariant,
  namedVariant,
  preferredVariant,
  variantsOf,
  whyNoModel,
} from './gguf-variants.ts';
import { type HttpAnswer, HttpClient } from './http-client.ts';
import {
  fileUrl,
  type HubAccess,
  type HubFile,
  type HubListing,
  hubSecrets,
  listRepository,
  refuseHubAnswer,
} from './hub-api.ts';
import { type HubSettings, readHubSettings } from './hub-settings.ts';
import { type ModelName, modelNameText, parseModelName, type UrlName } from './model-name.ts';
import { blobUrl, readManifest } from './ollama-registry.ts';
import { remoteFetch } from './remote-fetch.ts';
import { GENERATION_CONFIG, RepoFolder } from './repo-folder.ts';
import { DEFAULT_PATIENCE, type Patience } from './retry.ts';

/** What a pull reports while it runs. */
export interface PullProgress {
  /** Bytes of the whole model that are here, or that were checked. */
  readonly bytes: number;
  readonly totalBytes: number | undefined;
  /** `waiting` while another process downloads the same file. */
  readonly phase: 'downloading' | 'checking' | 'waiting';
}

/** A model that could be pulled: its quantizations. */
export interface RemoteModel {
  readonly name: ModelName;
  readonly commit: string;
  readonly models: readonly GgufVariant<HubFile>[];
  /** Files of image and audio encoders, which are not used. */
  readonly projectors: readonly HubFile[];
  /** How the repository recommends to sample, if it says so. */
  readonly generationConfig: HubFile | undefined;
  /** The address of a file, for reading it where it is. */
  address(file: HubFile): { readonly url: string; readonly headers: Readonly<Record<string, string>> };
}

/** Options of everything that is done with models by name. */
export interface HubOptions {
  /** Headers for the server that is asked, and no other. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** No requests: only what is in the cache. Default: as `HF_HUB_OFFLINE` says. */
  readonly offline?: boolean | undefined;
  /** Where settings and proxies are read from. Default: the process's environment. */
  readonly environment?: NodeJS.ProcessEnv | undefined;
  readonly patience?: Patience | undefined;
  /** Longest wait for the next byte, in milliseconds. Default: 30 seconds, or `HF_HUB_DOWNLOAD_TIMEOUT`. */
  readonly idleMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly logger?: Logger | undefined;
}

/** Options of a pull. */
export interface PullOptions {
  /** Connections at once. Default 4. */
  readonly connections?: number | undefined;
  readonly onProgress?: ((progress: PullProgress) => void) | undefined;
}

/** A model on this machine. */
export interface PulledModel {
  /** With its quantization, as it can be named from now on. */
  readonly name: ModelName;
  /** The file to open: of a split model the first part. */
  readonly path: string;
  readonly files: readonly string[];
  readonly bytes: number;
}

const DEFAULT_CONNECTIONS = 4;

/** Longer ones are something else. */
const MAX_CONFIG_BYTES = 64 << 10;

/** Finds models by name, in the cache and on their hubs, and pulls them. Dispose it: it holds connections. */
export class ModelHub implements Disposable {
  readonly settings: HubSettings;
  readonly #options: HubOptions;
  readonly #access: HubAccess;

  private constructor(settings: HubSettings, options: HubOptions) {
    const { idleMs = settings.idleMs, environment, headers, patience = DEFAULT_PATIENCE } = options;
    this.settings = settings;
    this.#options = options;
    const client = new HttpClient({ idleMs, environment });
    const { signal = new AbortController().signal, logger = silentLogger } = options;
    const onRetry = (error: unknown, waitMs: number) => {
      const reason = error instanceof Error ? error.message : String(error);
      logger.warn('asking again', { seconds: (waitMs / 1000).toFixed(1), reason });
    };
    this.#access = { client, settings, headers, patience, signal, onRetry };
  }

  /** Reads the settings. Rejects with `INVALID_ARGUMENT`. */
  static async open(options: HubOptions = {}): Promise<ModelHub> {
    const settings = await readHubSettings(options.environment);
    return new ModelHub({ ...settings, offline: options.offline ?? settings.offline }, options);
  }

  /** Reads files where they are, with this hub's connections and proxies. */
  get fetch(): typeof globalThis.fetch {
    return remoteFetch(this.#access.client);
  }

  /** Throws `MODEL_NAME_INVALID`. */
  parse(text: string): ModelName {
    return parseModelName(text, this.settings.endpoint);
  }

  /**
   * The model in the cache, without any request; undefined if it is not there whole, or if its name fits several files. A name
   * that leaves the quantization open finds whichever is there, the usual ones first.
   */
  async cached(name: ModelName): Promise<PulledModel | undefined> {
    const folder = RepoFolder.of(name, this.settings);
    const commit = await folder.commitOf(name.kind === 'hub' ? name.revision : 'main');
    if (commit === undefined) return undefined;
    const { models } = variantsOf(await folder.filesOf(commit));
    try {
      const variant = chosen(name, models);
      const files = variant?.files.map(({ location }) => location);
      const [path] = files ?? [];
      return variant && files && path !== undefined
        ? { name: withQuantization(name, variant), path, files, bytes: variant.bytes }
        : undefined;
    } catch (error) {
      if (isRocmforgeError(error, 'HUB_NOT_FOUND')) return undefined;
      throw error;
    }
  }

  /**
   * What there is under a name, from its hub. Rejects with `HUB_OFFLINE`, `HUB_NOT_FOUND`, `HUB_ACCESS_DENIED`,
   * `HUB_ANSWER_INVALID`, and errors of HTTP.
   */
  async look(name: Exclude<ModelName, UrlName>): Promise<RemoteModel> {
    this.#requireOnline(name);
    const { settings } = this;
    const access = this.#access;
    const listing: HubListing =
      name.kind === 'hub'
        ? await listRepository(access, name.repo, name.revision)
        : await this.#manifest(name);
    const { models, projectors } = variantsOf(listing.files);
    const address = ({ path, hash }: HubFile) =>
      name.kind === 'hub'
        ? { url: fileUrl(settings, name.repo, listing.commit, path), headers: hubSecrets(access) }
        : { url: blobUrl(name, hash.hex), headers: access.headers ?? {} };
    if (models.length === 0) {
      const what = whyNoModel(listing.files.map(({ path }) => path));
      fail('HUB_NOT_FOUND', { model: modelNameText(name), what, known: undefined });
    }
    const generationConfig = listing.files.find(
      ({ path, size }) => path === GENERATION_CONFIG && size <= MAX_CONFIG_BYTES,
    );
    return { name, commit: listing.commit, models, projectors, generationConfig, address };
  }

  /** The quantization that a name asks for, or else the usual one. Throws `HUB_NOT_FOUND` with those that there are. */
  choose({ models, name: own }: RemoteModel, name: ModelName = own): GgufVariant<HubFile> {
    return chosen(name, models) as GgufVariant<HubFile>;
  }

  /**
   * Downloads what is missing of a model, of its usual quantization if the name leaves it open; `look` may have been called
   * before. Rejects as `look` and `downloadFile`.
   */
  async pull(name: ModelName, options: PullOptions = {}, looked?: RemoteModel): Promise<PulledModel> {
    if (name.kind === 'url') return this.#pullUrl(name, options);
    const remote = looked ?? (await this.look(name));
    const variant = chosen(name, remote.models);
    if (!variant)
      return fail('HUB_NOT_FOUND', { model: modelNameText(name), what: 'no file', known: undefined });
    const folder = RepoFolder.of(name, this.settings);
    let before = 0;
    for (const file of variant.files) {
      const report = (progress: PullProgress) =>
        options.onProgress?.({ ...progress, bytes: before + progress.bytes, totalBytes: variant.bytes });
      const blob = file.hash.hex;
      const source = this.#sourceOf(remote, name, file);
      await this.#store(folder, { source, blob }, { ...options, onProgress: report });
      before += file.size;
    }
    const { generationConfig } = remote;
    if (generationConfig) {
      const source = this.#sourceOf(remote, name, generationConfig);
      await this.#store(folder, { source, blob: generationConfig.hash.hex }, {});
      await folder.link(remote.commit, GENERATION_CONFIG, generationConfig.hash.hex);
    }
    const files: string[] = [];
    for (const { path, hash } of variant.files) files.push(await folder.link(remote.commit, path, hash.hex));
    await folder.setRef(name.kind === 'hub' ? name.revision : 'main', remote.commit);
    if (name.kind !== 'hub') await folder.setOrigin(name);
    return { name: withQuantization(name, variant), path: files[0] as string, files, bytes: variant.bytes };
  }

  [Symbol.dispose](): void {
    this.#access.client[Symbol.dispose]();
  }

  #sourceOf(remote: RemoteModel, name: ModelName, file: HubFile): RemoteFile {
    const { url, headers: secrets } = remote.address(file);
    const refuse =
      name.kind === 'hub'
        ? (answer: HttpAnswer) => refuseHubAnswer(this.#access, name.repo, answer)
        : undefined;
    const { size, hash } = file;
    return { name: basename(file.path), url, secrets, expected: { size, hash }, refuse };
  }

  /** A file without a listing: its hash is known once it is here, and what it is called is in the address. */
  async #pullUrl(name: UrlName, options: PullOptions): Promise<PulledModel> {
    this.#requireOnline(name);
    const folder = RepoFolder.of(name, this.settings);
    const key = createHash('sha256').update(name.url).digest('hex');
    const fileName = fileNameOf(name.url);
    const source = { name: fileName, url: name.url, secrets: this.#access.headers ?? {} };
    const { hex, size } = await this.#store(folder, { source, blob: key }, options);
    const path = await folder.link(hex.slice(0, 40), fileName, hex);
    await folder.setRef('main', hex.slice(0, 40));
    await folder.setOrigin(name);
    return { name, path, files: [path], bytes: size };
  }

  /** Downloads one file into the blobs, unless it is there or another process does. Without an expected hash, the blob gets its own. */
  async #store(
    folder: RepoFolder,
    { source, blob }: { readonly source: RemoteFile; readonly blob: string },
    { connections = DEFAULT_CONNECTIONS, onProgress = () => {} }: PullOptions,
  ): Promise<{ hex: string; size: number }> {
    const { expected } = source;
    const present = async () => expected && (await folder.has(blob, expected.size));
    const done = (): { hex: string; size: number } => {
      const size = expected?.size ?? 0;
      onProgress({ phase: 'downloading', bytes: size, totalBytes: size });
      return { hex: blob, size };
    };
    if (await present()) return done();
    const { client, patience, signal, onRetry } = this.#access;
    const onWait = () => onProgress({ phase: 'waiting', bytes: 0, totalBytes: expected?.size });
    await using claim = await FileClaim.take(folder.claim(blob), { signal, onWait });
    if (await present()) return done();
    const files = folder.unfinished(blob);
    const check = () => claim.check(source.name);
    await folder.prepare();
    const options = { client, patience, signal, onRetry, connections, check, onState: onProgress };
    const downloaded = await downloadFile(source, files, options);
    await folder.adopt(files.part, downloaded.hex);
    await discardDownload(files);
    return downloaded;
  }

  async #manifest(name: Extract<ModelName, { kind: 'ollama' }>): Promise<HubListing> {
    const listing = await readManifest(this.#access, name);
    for (const layer of listing.unused) {
      (this.#options.logger ?? silentLogger).warn('a layer of the model is not used', { layer });
    }
    return listing;
  }

  #requireOnline(name: ModelName): void {
    if (this.settings.offline) fail('HUB_OFFLINE', { model: modelNameText(name) });
  }
}

/** Undefined if there are none. Throws `HUB_NOT_FOUND`. */
function chosen<Part extends GgufPart>(
  name: ModelName,
  models: readonly GgufVariant<Part>[],
): GgufVariant<Part> | undefined {
  if (name.kind !== 'hub' || (name.quantization === undefined && name.file === undefined)) {
    return preferredVariant(models);
  }
  const { quantization, file } = name;
  return namedVariant(models, { model: modelNameText(name), quantization, file });
}

/** The name with the quantization that was chosen, if it left that open. */
function withQuantization(name: ModelName, { quantization }: GgufVariant): ModelName {
  return name.kind === 'hub' && name.file === undefined ? { ...name, quantization } : name;
}

function fileNameOf(url: string): string {
  const { pathname, hostname } = new URL(url);
  const last = basename(pathname) || hostname;
  const plain = last.replace(/%20/g, ' ').replace(/[^\w. -]+/g, '_');
  return plain.endsWith('.gguf') ? plain : `${plain}.gguf`;
}
