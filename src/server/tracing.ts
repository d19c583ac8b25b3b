/** Span attributes, under the names of OpenTelemetry's semantic conventions where they exist. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean | string[]>>;

/** When part of a request ran, on the clock of `performance.now()`. */
export interface SpanTimes {
  /** Milliseconds. */
  readonly begin: number;
  readonly end: number;
}

/** The span of a request: the root of its trace, or a child of the client's span. */
export interface RequestSpan {
  /** The trace id: 32 hexadecimal digits. */
  readonly trace: string;
  note(attributes: SpanAttributes): void;
  /** Records a finished part as a child span. */
  part(name: string, times: SpanTimes, attributes?: SpanAttributes): void;
  /** Ends the span; `error` is the error code, if it failed. */
  end(error?: string): void;
}

/** Receives the spans of requests; the platform provides the implementation. */
export interface ServerTracing {
  /** Begins the span of a request, as a child of the span in `traceparent`. */
  begin(of: {
    readonly name: string;
    /** When the request arrived, on the clock of `performance.now()`. */
    readonly begin: number;
    readonly headers: Headers;
    readonly attributes: SpanAttributes;
  }): RequestSpan;
}
