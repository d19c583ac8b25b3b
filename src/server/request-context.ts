import { invariant, isRocmforgeError, RocmforgeError } from '../base/errors.ts';
import { timerSpan } from '../base/timer-span.ts';
import type { Logger } from '../base/log.ts';
import type { ContextShift } from '../runtime/sequence.ts';
import type { ErrorDialect } from './error-response.ts';
import { typedError } from './error-response.ts';
import type { Connection } from './event-stream.ts';
import { headerOf } from './fields/unread-fields.ts';
import { fieldOf } from './fields/field-names.ts';
import type { ServerMetrics } from './metrics.ts';
import type { AdapterFiles } from './adapter-files.ts';
import type { ModelFiles } from './model-files.ts';
import type { ModelPool } from './model-pool.ts';
import type { RequestGate } from './request-gate.ts';
import type { SamplingDefaults } from './sampling-defaults.ts';
import type { StateFiles } from './state-files.ts';
import type { KeptStream, KeptStreams } from './kept-streams.ts';
import type { Caller } from './api-keys.ts';
import type { BackgroundWork } from './background-work.ts';
import { OwnedStorage } from './storage/owned-storage.ts';
import type { Storage } from './storage/storage.ts';
import type { Tenant } from './tenant.ts';
import type { RequestSpan, ServerTracing } from './tracing.ts';

/** What a request knows of its endpoint. */
export interface EndpointFacts {
  readonly path: string;
  readonly dialect: ErrorDialect;
}

/** What every request has access to. */
export interface ServerContext {
  readonly pool: ModelPool;
  readonly gate: RequestGate;
  readonly metrics: ServerMetrics;
  /** Where the spans of requests go, if anywhere. */
  readonly tracing: ServerTracing | undefined;
  readonly logger: Logger;
  /** Seconds that a request may take. */
  readonly timeLimit: number;
  /** The system message of conversations that have none. */
  readonly systemPrompt: string | undefined;
  /** Sampling of requests that say nothing else. */
  readonly sampling: SamplingDefaults;
  /** Maximum tokens of an answer. */
  readonly maxTokens: number;
  /** Tokens of an answer whose request sets no limit. */
  readonly defaultMaxTokens: number | undefined;
  /** What happens to a text when the context is full, if it does not end. */
  readonly shift: ContextShift | undefined;
  /** Whether answers continue an assistant's last message. */
  readonly prefillsAssistant: boolean;
  /** Whether answers to chats tell their prompts. */
  readonly isVerbose: boolean;
  /** Maximum models loaded at the same time, where they are counted. */
  readonly maxModels: number | undefined;
  /** Whether requests load the models that they name. */
  readonly autoload: boolean;
  /** Whether models with a switch for it reason, where a request does not say. */
  readonly reasoning: boolean | undefined;
  /** Maximum bytes of a body. */
  readonly maxBody: number;
  /** The LoRA adapters that requests may load, if any. */
  readonly adapterFiles: AdapterFiles | undefined;
  /** The files of the models, if requests may change them. */
  readonly files: ModelFiles | undefined;
  /** Where the states of slots are saved, if anywhere. */
  readonly states: StateFiles | undefined;
  readonly version: string;
  /** What outlasts requests. */
  readonly storage: Storage;
  /** The streams that clients may take up again. */
  readonly streams: KeptStreams;
  /** What continues after the response to its request. */
  readonly background: BackgroundWork;
  /** Begins a request that no client waits for. */
  readonly begin: (
    endpoint: EndpointFacts,
    request: Request,
    terms?: Omit<RequestTerms, 'onEnd'>,
  ) => RequestContext;
  /** Origins whose pages may use the server. */
  readonly origins: readonly string[];
  /** Models that are loaded before the server is healthy. */
  readonly preloads: readonly string[];
  /** True during shutdown, while running requests finish. */
  readonly isDraining: () => boolean;
  /** True once these models have been loaded. */
  readonly hasLoaded: () => boolean;
}

/** The response header that lists request fields without effect. */
export const IGNORED_FIELDS = 'x-rocmforge-ignored-fields';

/** A request id that a client may choose. */
const REQUEST_ID = /^[\w.:@/+=-]{1,128}$/;

/** W3C Trace Context, version 00: trace id, parent span id, flags. */
const TRACE_PARENT = /^00-(?!0{32})([\da-f]{32})-(?!0{16})[\da-f]{16}-[\da-f]{2}$/;

/** The status that is logged for a client that disconnected. */
const CLIENT_CLOSED_REQUEST = 499;

/** What differs for requests that nobody waits for. */
export interface RequestTerms {
  /** Called when it has ended. */
  readonly onEnd: () => void;
  /** Seconds that it may take. Default: the server's limit. */
  readonly timeLimit?: number;
  /** The priority of its sequences, whatever it asks for itself. */
  readonly priority?: number;
  /** What carries its body, and that of its response if that is a stream. Default: the streams of both. */
  readonly connection?: Connection | undefined;
}

/**
 * A request in progress: its signal, and the fields that are logged when it ends. Prompts are not among them.
 */
export class RequestContext {
  /** The client's id for the request, or a new one. */
  readonly id: string;
  readonly #controller = new AbortController();
  /** When it arrived, on the clock of `performance.now()`. */
  readonly startedAt = performance.now();
  /** Its span, where the server traces. */
  readonly span: RequestSpan | undefined;
  readonly #logFields: Record<string, unknown> = {};
  readonly #timer: ReturnType<typeof setTimeout>;
  readonly #onClientAbort = () => {
    if (!this.#isLeft) this.abort();
  };
  #caller: Caller | undefined;
  #kept: KeptStream | undefined;
  #ignored: string | undefined;
  #isLate = false;
  /** Whether it does not care for its client any more. */
  #isLeft = false;
  #isEnded = false;
  /** Set if the response continues after the handler returned; whoever sends it calls `end`. */
  isStreaming = false;

  constructor(
    readonly server: ServerContext,
    readonly request: Request,
    readonly endpoint: EndpointFacts,
    readonly terms: RequestTerms,
  ) {
    const given = request.headers.get('x-request-id') ?? '';
    this.id = REQUEST_ID.test(given) ? given : `req_${crypto.randomUUID().replaceAll('-', '')}`;
    this.span = spanOf(server.tracing, request, { id: this.id, begin: this.startedAt, route: endpoint.path });
    const trace = this.span?.trace ?? TRACE_PARENT.exec(request.headers.get('traceparent') ?? '')?.[1];
    if (trace !== undefined) this.addLogFields({ trace });
    this.#watchClient();
    this.#timer = setTimeout(() => {
      this.#isLate = true;
      this.abort();
    }, timerSpan(this.#timeLimit));
  }

  /** The bytes of its body, if it has one. */
  get body(): AsyncIterable<Uint8Array> | undefined {
    return (
      this.terms.connection?.body ?? (this.request.body as AsyncIterable<Uint8Array> | null) ?? undefined
    );
  }

  /** The stream that it sends, if that is kept for clients that come back. */
  get kept(): KeptStream | undefined {
    return this.#kept;
  }

  /** Keeps its stream, if it names one: from here on, it goes on without its client. */
  keepStream(): void {
    this.#kept = this.server.streams.begin(this);
    if (this.#kept) this.#leaveClient();
  }

  /** Whose request it is. */
  get caller(): Caller {
    invariant(this.#caller, 'a request is somebody’s before it is carried out');
    return this.#caller;
  }

  /** The tenant of the request. */
  get tenant(): Tenant {
    return this.caller.tenant;
  }

  /** What is stored for the key of the request. */
  get stored(): OwnedStorage {
    return new OwnedStorage(this.server.storage, this.caller.owner);
  }

  /** The API whose format its errors have: Anthropic's clients name its version. */
  get dialect(): ErrorDialect {
    return this.request.headers.has('anthropic-version') ? 'anthropic' : this.endpoint.dialect;
  }

  /** Sets whose request it is. */
  identify(caller: Caller): void {
    this.#caller = caller;
  }

  get #timeLimit(): number {
    return this.terms.timeLimit ?? this.server.timeLimit;
  }

  /** Fires when the client disconnects, the time limit is reached, or the server stops. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  abort(): void {
    this.#controller.abort();
  }

  /** Ends with its client, of whose leaving a connection tells at less cost than the signal of a request. */
  #watchClient(): void {
    const { connection } = this.terms;
    if (connection) return connection.onGone(this.#onClientAbort);
    const { signal } = this.request;
    signal.addEventListener('abort', this.#onClientAbort, { once: true });
    if (signal.aborted) this.abort();
  }

  /** Goes on without its client. */
  #leaveClient(): void {
    this.#isLeft = true;
    if (!this.terms.connection) this.request.signal.removeEventListener('abort', this.#onClientAbort);
  }

  /** Records fields of the body that have no effect. */
  reportIgnored(fields: readonly string[]): void {
    if (fields.length === 0) return;
    this.#ignored = headerOf(fields);
    this.addLogFields({ ignored: this.#ignored });
  }

  /** Adds the request id to the response, in the headers of both APIs, and the list of ignored fields. */
  addHeaders(response: Response): Response {
    if (this.#ignored !== undefined) response.headers.set(IGNORED_FIELDS, this.#ignored);
    response.headers.set('x-request-id', this.id);
    if (this.dialect === 'anthropic') response.headers.set('request-id', this.id);
    return response;
  }

  /** Adds fields to the log line of the request. */
  addLogFields(fields: Readonly<Record<string, unknown>>): void {
    Object.assign(this.#logFields, fields);
  }

  /** Counts and logs the tokens of texts that were embedded, ranked or classified. */
  countPrompt(model: string, tokens: number): void {
    this.addLogFields({ model, promptTokens: tokens });
    this.server.metrics.prompt({ model, tokens });
  }

  /** The error to report to the client: a timeout instead of the abort that it caused. */
  errorOf(error: unknown): RocmforgeError {
    if (this.#isLate && isRocmforgeError(error, 'ABORTED')) {
      return new RocmforgeError('REQUEST_TIMEOUT', { seconds: this.#timeLimit }, { cause: error });
    }
    const isStopped = this.#kept?.isCancelled && isRocmforgeError(error, 'ABORTED');
    const typed = isStopped
      ? new RocmforgeError('STREAM_CANCELLED', {}, { cause: error })
      : namedAsSent(typedError(error));
    this.addLogFields({ code: typed.code });
    if (typed.code === 'INTERNAL') {
      const cause = typed.cause instanceof Error ? typed.cause : typed;
      this.server.logger.warn('internal error', { id: this.id, stack: cause.stack });
    } else if (typed.status >= 500) {
      // The client does not get these details.
      this.server.logger.warn('request failed', { id: this.id, code: typed.code, reason: typed.message });
    }
    return typed;
  }

  /** Ends the request, once: counts and logs it. */
  end(status: number = CLIENT_CLOSED_REQUEST): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    clearTimeout(this.#timer);
    if (this.#kept && !this.isStreaming) this.server.streams.forget(this.#kept);
    this.#leaveClient();
    const seconds = (performance.now() - this.startedAt) / 1000;
    const { metrics, logger } = this.server;
    metrics.request({ endpoint: this.endpoint.path, status, seconds });
    this.span?.note({ 'http.response.status_code': status });
    const { code } = this.#logFields;
    this.span?.end(status >= 500 ? (typeof code === 'string' ? code : `${status}`) : undefined);
    const { method } = this.request;
    const fields = {
      id: this.id,
      method,
      endpoint: this.endpoint.path,
      status,
      ms: Math.round(seconds * 1000),
    };
    logger.info('request', { ...fields, ...this.#logFields });
    this.terms.onEnd();
  }
}

/** The span of a request. What only asks how the server is doing has none. */
function spanOf(
  tracing: ServerTracing | undefined,
  { method, headers }: Request,
  { id, begin, route }: { id: string; begin: number; route: string },
): RequestSpan | undefined {
  if (method !== 'POST') return undefined;
  const attributes = { 'http.request.method': method, 'http.route': route, 'rocmforge.request.id': id };
  return tracing?.begin({ name: `${method} ${route}`, begin, headers, attributes });
}

/** An option's error as one of the corresponding field: `topP` of the library is `top_p` of a request. */
function namedAsSent(error: RocmforgeError): RocmforgeError {
  if (!isRocmforgeError(error, 'INVALID_ARGUMENT')) return error;
  const { name, found, expected } = error.params;
  const field = fieldOf(name);
  return new RocmforgeError(
    'REQUEST_INVALID',
    { field, problem: `found ${found}, expected ${expected}` },
    { cause: error },
  );
}
