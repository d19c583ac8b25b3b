import { Hono } from 'hono';
import { fail, isRocmforgeError, RocmforgeError } from '../base/errors.ts';
import { type Logger, silentLogger } from '../base/log.ts';
import { checkOptions, type OptionNames } from '../base/options.ts';
import type { ContextShift } from '../runtime/sequence.ts';
import type { AdapterFiles } from './adapter-files.ts';
import { ApiKeys } from './api-keys.ts';
import { crossOrigin } from './cross-origin.ts';
import { resumeMessageBatches } from './batches/message-batches.ts';
import { resumeBatches } from './batches/openai-batches.ts';
import { BackgroundWork } from './background-work.ts';
import type { ApiKey } from './tenant.ts';
import { KeptStreams } from './kept-streams.ts';
import {
  type EndpointFacts,
  IGNORED_FIELDS,
  RequestContext,
  type RequestTerms,
  type ServerContext,
} from './request-context.ts';
import type { Endpoint } from './endpoint.ts';
import type { Connection } from './event-stream.ts';
import { ROUTES } from './routes.ts';
import { type ErrorDialect, errorResponse } from './error-response.ts';
import { NO_METRICS, type ServerMetrics } from './metrics.ts';
import type { ModelFiles } from './model-files.ts';
import { ModelPool, type ServedModel } from './model-pool.ts';
import { patternOf, routeOf } from './paths.ts';
import { RequestGate } from './request-gate.ts';
import { checkedSampling, type SamplingDefaults } from './sampling-defaults.ts';
import type { StateFiles } from './state-files.ts';
import type { BlobStore } from './storage/blob-store.ts';
import { MemoryBlobs } from './storage/memory-blobs.ts';
import { Storage } from './storage/storage.ts';
import type { ServerTracing } from './tracing.ts';

/** Answers a request for a file of a page; undefined if the page has no such file. */
export type PageFiles = (request: Request) => Promise<Response | undefined>;

/** Options of a server. */
export interface ServerOptions {
  /** The models by name; requests that name none get the first. */
  readonly models: readonly ServedModel[];
  /**
   * Lists the available models again, when an unknown one is requested or all are listed. Default: they never change.
   */
  readonly discover?: (() => Promise<readonly ServedModel[]>) | undefined;
  /** Models to load immediately, before the server reports itself healthy. Default: the first that loads. */
  readonly preload?: readonly string[];
  /** Requests that name an unknown model get the first, as in llama.cpp's server. Default: they are refused. */
  readonly anyModel?: boolean;
  /** Maximum models loaded at the same time. Default 1, or as many as `modelsMemory` holds. */
  readonly maxModels?: number;
  /**
   * Maximum memory of loaded models in bytes, instead of their number: the least recently used are unloaded for others,
   * which wait while all are in use. Requires models that tell their memory. Default: unlimited.
   */
  readonly modelsMemory?: number | undefined;
  /** Seconds without a request after which a model is unloaded; the next request loads it again. Default: it stays loaded. */
  readonly sleepIdleSeconds?: number | undefined;
  /** Sequences that each model generates at once, as it was opened. Default 1. */
  readonly parallel?: number;
  /** Waiting sequences per key; beyond that, requests get 429. Default 64. */
  readonly queue?: number;
  /** The system message of conversations that have none. Default: none. */
  readonly systemPrompt?: string | undefined;
  /** Sampling of requests that say nothing else. Default: what the model's file recommends, and the library's defaults. */
  readonly sampling?: SamplingDefaults | undefined;
  /** Maximum tokens of an answer, whatever a request asks for. Default: up to the end of the context. */
  readonly maxTokens?: number;
  /** Tokens of an answer whose request sets no limit. Default: up to the end of the context, and what an API says. */
  readonly defaultMaxTokens?: number | undefined;
  /** What to do with a text when the context is full. Default: it ends. */
  readonly shift?: ContextShift | undefined;
  /**
   * Answers continue an assistant's message at the end of a conversation, as in llama.cpp's server. Default: they are new
   * messages, as in OpenAI's API.
   */
  readonly prefillAssistant?: boolean | undefined;
  /** Answers to chats tell their prompts and settings, as with the field `verbose`. Default false. */
  readonly verboseAnswers?: boolean | undefined;
  /**
   * Whether requests load the models that they name. Default true; otherwise none is loaded but by `POST /models/load`, and
   * `preload`.
   */
  readonly autoload?: boolean | undefined;
  /**
   * Whether models whose chat template has a switch for it reason, where a request does not say. Default: as the template
   * decides.
   */
  readonly reasoning?: boolean | undefined;
  /** Maximum bytes of a body. Default 8 MiB. */
  readonly maxBody?: number;
  /** Maximum seconds of a request. Default 600. */
  readonly timeLimit?: number;
  /** The accepted keys with their limits. Default: no key is required. */
  readonly keys?: readonly (string | ApiKey)[];
  /** Origins whose pages may use the server, `*` for all, `localhost` for those of this machine. Default: only its own. */
  readonly origins?: readonly string[];
  /** Answers other paths, without a key: the files of a page. Default: nothing. */
  readonly page?: PageFiles | undefined;
  /** The LoRA adapters that requests may load. Default: such requests are refused. */
  readonly adapterFiles?: AdapterFiles | undefined;
  /** The files of the models, which requests may copy and delete. Default: such requests are refused. */
  readonly files?: ModelFiles | undefined;
  /** Where the states of slots are saved. It stays the caller's. Default: nowhere, and such requests are refused. */
  readonly states?: StateFiles | undefined;
  /** Endpoints that answer nobody. Default: none. */
  readonly disabled?: readonly ('slots' | 'metrics')[];
  readonly metrics?: ServerMetrics;
  /** Where responses, conversations, files and batches are kept. It stays the caller's. Default: in memory. */
  readonly store?: BlobStore | undefined;
  /** Maximum items that are kept; then the oldest leave. Default 16384. */
  readonly storeItems?: number | undefined;
  /** Maximum bytes that are kept. Default 64 MiB, and 4 GiB with `store`. */
  readonly storeBytes?: number | undefined;
  /** Where the spans of requests go. It stays the caller's. Default: nowhere. */
  readonly tracing?: ServerTracing | undefined;
  readonly logger?: Logger;
  /** The version that the server reports. */
  readonly version?: string;
}

const SERVER_OPTIONS: OptionNames<ServerOptions> = {
  models: true,
  discover: true,
  preload: true,
  anyModel: true,
  maxModels: true,
  modelsMemory: true,
  sleepIdleSeconds: true,
  parallel: true,
  queue: true,
  systemPrompt: true,
  sampling: true,
  maxTokens: true,
  defaultMaxTokens: true,
  shift: true,
  prefillAssistant: true,
  verboseAnswers: true,
  autoload: true,
  reasoning: true,
  maxBody: true,
  timeLimit: true,
  keys: true,
  origins: true,
  page: true,
  adapterFiles: true,
  files: true,
  states: true,
  disabled: true,
  metrics: true,
  store: true,
  storeItems: true,
  storeBytes: true,
  tracing: true,
  logger: true,
  version: true,
};

const DEFAULT_QUEUE = 64;
const DEFAULT_MAX_BODY = 8 * 2 ** 20;
const DEFAULT_TIME_LIMIT = 600;
const DEFAULT_STORE_ITEMS = 2 ** 14;
const DEFAULT_MEMORY_BYTES = 64 * 2 ** 20;
const DEFAULT_STORE_BYTES = 4 * 2 ** 30;
/** Characters of a path that an error message shows. */
const MAX_SHOWN_LENGTH = 200;

/** What comes with a request beside it. */
interface Bindings {
  readonly connection?: Connection | undefined;
}

/**
 * An HTTP server without a socket, from requests to responses, so that the same code runs behind Node's listener and in
 * a service worker. It owns the models that it loads.
 */
export class ModelServer implements AsyncDisposable {
  readonly #app = new Hono<{ Bindings: Bindings }>();
  readonly #context: ServerContext;
  readonly #calls = new Set<RequestContext>();
  /** Paths that answer nobody. */
  #disabled: ReadonlySet<string> = new Set();
  readonly #loaded: Promise<void>;
  #isDraining = false;
  #hasLoaded = false;

  constructor(options: ServerOptions) {
    checkOptions('ModelServer', options, SERVER_OPTIONS);
    const { models, modelsMemory: memory, parallel = 1 } = options;
    const { queue = DEFAULT_QUEUE, metrics = NO_METRICS } = options;
    const { logger = silentLogger, timeLimit = DEFAULT_TIME_LIMIT, version = '0' } = options;
    const { maxTokens = Number.POSITIVE_INFINITY, maxBody = DEFAULT_MAX_BODY } = options;
    const [first] = models;
    if (!first) fail('INVALID_ARGUMENT', { name: 'models', found: 'none', expected: 'at least one model' });
    const { maxModels = memory === undefined ? 1 : undefined } = options;
    const { autoload = true, preload } = options;
    const preloads = preload ?? (autoload ? [first.id] : []);
    if (maxModels !== undefined && preloads.length > maxModels) {
      const expected = `at most the ${maxModels} that may be loaded at once`;
      fail('INVALID_ARGUMENT', { name: 'preload', found: `${preloads.length} models`, expected });
    }
    const onLost = (id: string) => this.#reload(id);
    const { discover, sleepIdleSeconds: idleSeconds, anyModel } = options;
    checkSeconds({ timeLimit, sleepIdleSeconds: idleSeconds });
    const limits = { maxModels, memory, idleSeconds, autoload, savesStates: options.states !== undefined };
    const pool = new ModelPool(models, { ...limits, logger, onLost, discover, anyModel });
    const gate = new RequestGate(parallel, queue);
    this.#context = {
      pool,
      gate,
      metrics,
      tracing: options.tracing,
      logger,
      timeLimit,
      sampling: checkedSampling(options.sampling ?? {}),
      maxTokens,
      ...answersOf(options),
      maxModels,
      autoload,
      maxBody,
      adapterFiles: options.adapterFiles,
      files: options.files,
      states: options.states,
      version,
      storage: storageOf(options, logger),
      streams: new KeptStreams(),
      background: new BackgroundWork(parallel),
      begin: (endpoint, request, terms) => this.#begin(endpoint, request, terms),
      origins: options.origins ?? [],
      preloads,
      isDraining: () => this.#isDraining,
      hasLoaded: () => this.#hasLoaded,
    };
    const keys = new ApiKeys(options.keys ?? []);
    this.#route(options, keys);
    this.#loaded = preload || !autoload ? this.#preload(preloads) : this.#preloadAny(models);
    this.#resume(keys).catch((error: unknown) => logger.warn('batches not continued', { error }));
  }

  /** Resolves when the initial models are loaded; rejects with the error of one that fails. */
  get loaded(): Promise<void> {
    return this.#loaded;
  }

  /**
   * Answers a request. Never rejects. Whoever has cheaper means for bodies than the streams of requests and responses gives
   * them as `connection`: it may be given the response's body.
   */
  readonly fetch = async (request: Request, connection?: Connection): Promise<Response> =>
    this.#app.fetch(request, { connection });

  /** Refuses new requests and resolves when the running ones have ended. */
  async drain(): Promise<void> {
    this.#isDraining = true;
    await this.#context.gate.empty();
  }

  /** Ends running requests and releases the models. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isDraining = true;
    for (const call of this.#calls) call.abort();
    await this.#context.gate.empty();
    await this.#context.background.end();
    await this.#context.pool[Symbol.asyncDispose]();
  }

  /** Continues what an earlier server with the same store has left, once a model is loaded. */
  async #resume(keys: ApiKeys): Promise<void> {
    await this.#loaded.catch(() => undefined);
    const callerOf = (owner: string) => keys.callerOf(owner);
    if (this.#isDraining) return;
    await resumeBatches(this.#context, callerOf);
    await resumeMessageBatches(this.#context, callerOf);
  }

  /** Loads a model again that is to be loaded at all times. */
  #reload(id: string): void {
    const { preloads, logger } = this.#context;
    if (!preloads.includes(id) || this.#isDraining) return;
    this.#preload([id]).catch((error: unknown) =>
      logger.warn('model not loaded again', { model: id, error }),
    );
  }

  async #preload(ids: readonly string[]): Promise<void> {
    const leases = await Promise.all(ids.map((id) => this.#context.pool.acquire(id, undefined, true)));
    for (const lease of leases) lease[Symbol.dispose]();
    this.#hasLoaded = true;
  }

  /** Loads the first model that can be loaded. If there is none, rejects with the error of the first. */
  async #preloadAny(models: readonly ServedModel[]): Promise<void> {
    let first: { readonly reason: unknown } | undefined;
    for (const { id } of models) {
      try {
        await this.#preload([id]);
        return;
      } catch (error) {
        first ??= { reason: error };
        if (!isRocmforgeError(error, 'MODEL_NOT_LOADED')) break;
      }
    }
    const reason = first?.reason;
    throw isRocmforgeError(reason, 'MODEL_NOT_LOADED') ? reason.cause : reason;
  }

  #route(options: ServerOptions, keys: ApiKeys): void {
    const app = this.#app;
    const { origins = [], disabled = [] } = options;
    this.#disabled = new Set(disabled.map((name) => `/${name}`));
    if (origins.length > 0) app.use(crossOrigin(origins, ['x-request-id', IGNORED_FIELDS]));
    for (const endpoint of ROUTES) {
      app.on(endpoint.method, routeOf(endpoint.path), ({ req, env }) => {
        return this.#answer(endpoint, req.raw, { keys, connection: env.connection });
      });
    }
    app.notFound(async ({ req }) => (await options.page?.(req.raw)) ?? elsewhere(req.method, req.path));
    app.onError((error, { req }) => errorResponse(error, dialectOf(req.path)));
  }

  #begin(endpoint: EndpointFacts, request: Request, terms: Omit<RequestTerms, 'onEnd'> = {}): RequestContext {
    const onEnd = () => this.#calls.delete(call);
    const call = new RequestContext(this.#context, request, endpoint, { ...terms, onEnd });
    this.#calls.add(call);
    return call;
  }

  async #answer(
    endpoint: Endpoint,
    request: Request,
    { keys, connection }: { readonly keys: ApiKeys } & Bindings,
  ): Promise<Response> {
    const call = this.#begin(endpoint, request, { connection });
    try {
      if (!endpoint.isOpen) {
        const caller = await keys.check(request.headers);
        if (endpoint.method !== 'GET') caller.tenant.count();
        call.identify(caller);
      }
      if (this.#isDraining && endpoint.method === 'POST') fail('SERVER_DRAINING', {});
      if (endpoint.method === 'GET' && this.#disabled.has(endpoint.path)) {
        fail('FEATURE_DISABLED', { what: endpoint.path, option: `--${endpoint.path.slice(1)}` });
      }
      const response = await endpoint.handle(call);
      call.addHeaders(response);
      if (!call.isStreaming) call.end(response.status);
      return response;
    } catch (error) {
      const typed = call.errorOf(error);
      if (typed.code === 'SERVER_BUSY') this.#context.metrics.refused('busy');
      if (typed.code === 'RATE_LIMITED') this.#context.metrics.refused('limited');
      if (typed.code === 'SERVER_DRAINING') this.#context.metrics.refused('draining');
      call.end(typed.status);
      return call.addHeaders(errorResponse(typed, call.dialect, call.id));
    }
  }
}

/** How conversations are answered. Throws `INVALID_ARGUMENT` for a limit under 1. */
function answersOf({
  systemPrompt,
  reasoning,
  defaultMaxTokens,
  shift,
  prefillAssistant: prefillsAssistant = false,
  verboseAnswers: isVerbose = false,
}: ServerOptions): Pick<
  ServerContext,
  'systemPrompt' | 'reasoning' | 'defaultMaxTokens' | 'shift' | 'prefillsAssistant' | 'isVerbose'
> {
  if (defaultMaxTokens !== undefined && !(defaultMaxTokens >= 1)) {
    fail('INVALID_ARGUMENT', {
      name: 'defaultMaxTokens',
      found: `${defaultMaxTokens}`,
      expected: 'at least 1',
    });
  }
  return { systemPrompt, reasoning, defaultMaxTokens, shift, prefillsAssistant, isVerbose };
}

/** Throws `INVALID_ARGUMENT` for bounds within which nothing fits. */
function storageOf({ store, storeItems, storeBytes }: ServerOptions, logger: Logger): Storage {
  const maxItems = storeItems ?? DEFAULT_STORE_ITEMS;
  const maxBytes = storeBytes ?? (store ? DEFAULT_STORE_BYTES : DEFAULT_MEMORY_BYTES);
  for (const [name, value] of Object.entries({ storeItems: maxItems, storeBytes: maxBytes })) {
    if (value >= 1) continue;
    fail('INVALID_ARGUMENT', { name, found: `${value}`, expected: 'at least 1' });
  }
  return new Storage(store ?? new MemoryBlobs(), { maxItems, maxBytes }, logger);
}

/** Throws `INVALID_ARGUMENT` for a time that is none. */
function checkSeconds(given: Readonly<Record<string, number | undefined>>): void {
  for (const [name, seconds] of Object.entries(given)) {
    if (seconds === undefined || seconds > 0) continue;
    fail('INVALID_ARGUMENT', { name, found: `${seconds}`, expected: 'seconds, more than 0' });
  }
}

/** The response for a path or method without an endpoint. */
function elsewhere(method: string, path: string): Response {
  const allowed = ROUTES.filter(({ path: of }) => patternOf(of).test(path)).map((of) => of.method);
  const allow = allowed.join(', ');
  if (method === 'OPTIONS' && allow !== '') return new Response(null, { status: 204, headers: { allow } });
  const error =
    allow === ''
      ? new RocmforgeError('ROUTE_NOT_FOUND', { method, path: path.slice(0, MAX_SHOWN_LENGTH) })
      : new RocmforgeError('METHOD_NOT_ALLOWED', {
          method,
          path: path.slice(0, MAX_SHOWN_LENGTH),
          allowed: allow,
        });
  return errorResponse(error, dialectOf(path));
}

/** Errors of paths under Anthropic's have its format, whether or not there is an endpoint. */
function dialectOf(path: string): ErrorDialect {
  if (path.startsWith('/api/')) return 'ollama';
  return path.startsWith('/v1/messages') ? 'anthropic' : 'openai';
}
