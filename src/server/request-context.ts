import { invariant, isRocmforgeError, RocmforgeError } from '../base/errors.ts';
import { timerSpan } from '../base/timer-span.ts';
import type { Logger } from '../base/log.ts';
import type { ErrorDialect } from './error-response.ts';
import { typedError } from './error-response.ts';
import type { ServerMetrics } from './metrics.ts';
import type { ModelPool } from './model-pool.ts';
import type { RequestGate } from './request-gate.ts';
import type { Tenant } from './tenant.ts';

/** What every request can use. */
export interface ServerParts {
  readonly pool: ModelPool;
  readonly gate: RequestGate;
  readonly metrics: ServerMetrics;
  readonly logger: Logger;
  /** Seconds that a request may take. */
  readonly timeLimit: number;
  /** Most tokens of a text. */
  readonly maxTokens: number;
  readonly version: string;
  /** Models that are loaded before the server is healthy. */
  readonly preloads: readonly string[];
  /** True while the server only finishes what it has begun. */
  readonly isDraining: () => boolean;
  /** True once those models were loaded. */
  readonly hasLoaded: () => boolean;
}

/** The status that is logged for a client that left. */
const CLIENT_LEFT = 499;

/** A request on its way: its signal, and the facts that are logged and counted when it ends. Prompts are not among them. */
export class RequestContext {
  readonly id = `req_${crypto.randomUUID().replaceAll('-', '')}`;
  readonly #controller = new AbortController();
  readonly #begin = performance.now();
  readonly #facts: Record<string, unknown> = {};
  readonly #timer: ReturnType<typeof setTimeout>;
  readonly #clientLeft = () => this.abort();
  #tenant: Tenant | undefined;
  #isLate = false;
  #isEnded = false;
  /** Set where the response goes on after the handler returned; whoever sends it calls `end`. */
  isStreaming = false;

  constructor(
    readonly server: ServerParts,
    readonly request: Request,
    readonly endpoint: { readonly path: string; readonly dialect: ErrorDialect },
    readonly ended: () => void,
  ) {
    request.signal.addEventListener('abort', this.#clientLeft, { once: true });
    if (request.signal.aborted) this.abort();
    this.#timer = setTimeout(() => {
      this.#isLate = true;
      this.abort();
    }, timerSpan(server.timeLimit));
  }

  /** Whose request it is. */
  get tenant(): Tenant {
    invariant(this.#tenant, 'a request is somebody’s before it is carried out');
    return this.#tenant;
  }

  /** Notes whose request it is, and counts it. Throws `RATE_LIMITED`. */
  belongsTo(tenant: Tenant): void {
    this.#tenant = tenant;
    tenant.count();
  }

  /** Fires when the client left, the time is over, or the server stops. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  abort(): void {
    this.#controller.abort();
  }

  /** Adds facts to the log line of the request. */
  note(facts: Readonly<Record<string, unknown>>): void {
    Object.assign(this.#facts, facts);
  }

  /** What an error means to the client: the end of its time instead of the abort that it caused. */
  errorOf(error: unknown): RocmforgeError {
    if (this.#isLate && isRocmforgeError(error, 'ABORTED')) {
      return new RocmforgeError('REQUEST_TIMEOUT', { seconds: this.server.timeLimit }, { cause: error });
    }
    const typed = typedError(error);
    if (typed.code === 'INTERNAL') {
      const cause = typed.cause instanceof Error ? typed.cause : typed;
      this.server.logger.warn('internal error', { id: this.id, stack: cause.stack });
    }
    return typed;
  }

  /** Ends the request, once: counts and logs it. */
  end(status: number = CLIENT_LEFT): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    clearTimeout(this.#timer);
    this.request.signal.removeEventListener('abort', this.#clientLeft);
    const seconds = (performance.now() - this.#begin) / 1000;
    const { metrics, logger } = this.server;
    metrics.request({ endpoint: this.endpoint.path, status, seconds });
    const { method } = this.request;
    const facts = {
      id: this.id,
      method,
      endpoint: this.endpoint.path,
      status,
      ms: Math.round(seconds * 1000),
    };
    logger.info('request', { ...facts, ...this.#facts });
    this.ended();
  }
}
