import { setTimeout } from 'node:timers/promises';
import type * as Api from '@opentelemetry/api';
import type { W3CTraceContextPropagator } from '@opentelemetry/core';
import type { TracerProvider } from '@opentelemetry/sdk-trace';
import { fail } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { RequestSpan, ServerTracing, SpanAttributes, SpanTimes } from '../server/index.ts';

/** Where spans are sent. */
export interface OtlpOptions {
  /**
   * The base URL of the collector, to which `/v1/traces` is appended. Default: what the environment's
   * `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT` says, and `http://localhost:4318`.
   */
  readonly endpoint?: string | undefined;
  /** The version of the service. */
  readonly version: string;
  /** Is told what could not be sent. */
  readonly logger: Logger;
}

/** Milliseconds that the server waits at its end for a collector that does not answer. */
const LAST_SENDING_MS = 3000;

/**
 * Sends the spans of requests to an OpenTelemetry collector by OTLP over HTTP, in batches. Of the environment's variables,
 * `OTEL_SERVICE_NAME`, `OTEL_RESOURCE_ATTRIBUTES` and the exporter's (`OTEL_EXPORTER_OTLP_HEADERS` and so on) are honoured.
 */
export class OtlpTracing implements ServerTracing, AsyncDisposable {
  readonly #api: typeof Api;
  readonly #provider: TracerProvider;
  readonly #tracer: Api.Tracer;
  readonly #propagator: W3CTraceContextPropagator;

  private constructor(api: typeof Api, provider: TracerProvider, propagator: W3CTraceContextPropagator) {
    this.#api = api;
    this.#provider = provider;
    this.#tracer = provider.getTracer('rocmforge');
    this.#propagator = propagator;
  }

  /** Loads the library. Rejects with `TRACING_UNAVAILABLE` if it is not installed. */
  static async open({ endpoint, version, logger }: OtlpOptions): Promise<OtlpTracing> {
    const { api, core, exporter, resources, sdk } = await library();
    const warn = (message: string, ...details: readonly unknown[]) =>
      logger.warn('tracing', { reason: [message, ...details].map(String).join(' ') });
    const ignore = () => {};
    // A collector that cannot be reached fails no request.
    const diagnostics = { error: warn, warn, info: ignore, debug: ignore, verbose: ignore };
    api.diag.setLogger(diagnostics, { logLevel: api.DiagLogLevel.WARN, suppressOverrideMessage: true });
    const resource = resources
      .defaultResource()
      .merge(resources.resourceFromAttributes({ 'service.name': 'rocmforge', 'service.version': version }))
      .merge(resources.detectResources({ detectors: [resources.envDetector] }));
    const sender = new exporter.OTLPTraceExporter(endpoint === undefined ? {} : { url: tracesUrl(endpoint) });
    const spanProcessors = [new sdk.BatchSpanProcessor({ exporter: sender })];
    const provider = new sdk.TracerProvider({ resource, spanProcessors });
    return new OtlpTracing(api, provider, new core.W3CTraceContextPropagator());
  }

  begin({ name, begin, headers, attributes }: Parameters<ServerTracing['begin']>[0]): RequestSpan {
    const { ROOT_CONTEXT, SpanKind } = this.#api;
    const parent = this.#propagator.extract(ROOT_CONTEXT, headers, HEADERS);
    const options = { kind: SpanKind.SERVER, startTime: epochMs(begin), attributes: { ...attributes } };
    const span = this.#tracer.startSpan(name, options, parent);
    return new OtlpSpan(this.#api, this.#tracer, span);
  }

  /** Sends what was not sent yet, if that takes no longer than a few seconds. */
  async [Symbol.asyncDispose](): Promise<void> {
    const sent = this.#provider.shutdown().catch((error: unknown) => this.#api.diag.error(String(error)));
    await Promise.race([sent, setTimeout(LAST_SENDING_MS, undefined, { ref: false })]);
  }
}

const HEADERS: Api.TextMapGetter<Headers> = {
  keys: (headers) => [...headers.keys()],
  get: (headers, name) => headers.get(name) ?? undefined,
};

class OtlpSpan implements RequestSpan {
  readonly #api: typeof Api;
  readonly #tracer: Api.Tracer;
  readonly #span: Api.Span;

  constructor(api: typeof Api, tracer: Api.Tracer, span: Api.Span) {
    this.#api = api;
    this.#tracer = tracer;
    this.#span = span;
  }

  get trace(): string {
    return this.#span.spanContext().traceId;
  }

  note(attributes: SpanAttributes): void {
    this.#span.setAttributes({ ...attributes });
  }

  part(name: string, { begin, end }: SpanTimes, attributes: SpanAttributes = {}): void {
    const { ROOT_CONTEXT, trace } = this.#api;
    const startTime = epochMs(begin);
    const parent = trace.setSpan(ROOT_CONTEXT, this.#span);
    const part = this.#tracer.startSpan(name, { startTime, attributes: { ...attributes } }, parent);
    part.end(epochMs(end));
  }

  end(error?: string): void {
    if (error !== undefined) {
      this.#span.setAttribute('error.type', error);
      this.#span.setStatus({ code: this.#api.SpanStatusCode.ERROR, message: error });
    }
    this.#span.end(epochMs(performance.now()));
  }
}

/** A time of `performance.now()`'s clock in milliseconds since 1970: all times of a trace are by one clock. */
function epochMs(time: number): number {
  return performance.timeOrigin + time;
}

/** The packages, loaded by those alone who want spans. */
async function library() {
  try {
    const [api, core, exporter, resources, sdk] = await Promise.all([
      import('@opentelemetry/api'),
      import('@opentelemetry/core'),
      import('@opentelemetry/exporter-trace-otlp-http'),
      import('@opentelemetry/resources'),
      import('@opentelemetry/sdk-trace'),
    ]);
    return { api, core, exporter, resources, sdk };
  } catch (error) {
    return fail(
      'TRACING_UNAVAILABLE',
      { why: error instanceof Error ? error.message : String(error) },
      error,
    );
  }
}

/** The URL of traces below a collector's base URL, as the specification of `OTEL_EXPORTER_OTLP_ENDPOINT` has it. */
function tracesUrl(endpoint: string): string {
  return `${endpoint.replace(/\/+$/, '')}/v1/traces`;
}
