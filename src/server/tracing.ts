/** Attributes of a span, under the names of OpenTelemetry's semantic conventions where there is one. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean | string[]>>;

/** When a part of a request ran, on the clock of `performance.now()`. */
export interface SpanTimes {
  /** Milliseconds. */
  readonly begin: number;
  readonly end: number;
}

/** The span of a request, which is its trace's root or the child of the client's span. */
export interface RequestSpan {
  /** The id of the trace: 32 hexadecimal digits. */
  readonly trace: string;
  note(attributes: SpanAttributes): void;
  /** Records a part that is over as a child. */
  part(name: string, times: SpanTimes, attributes?: SpanAttributes): void;
  /** Ends the span; `error` is the code of what failed. */
  end(error?: string): void;
}

/** Where the spans of requests go; the platform brings a library for it. */
export interface ServerTracing {
  /** Begins the span of a request, below the span that its `traceparent` names. */
  begin(of: {
    readonly name: string;
    /** When the request came, on the clock of `performance.now()`. */
    readonly begin: number;
    readonly headers: Headers;
    readonly attributes: SpanAttributes;
  }): RequestSpan;
}
