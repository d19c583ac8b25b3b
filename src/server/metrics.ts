import type { ModelStatus } from './model-pool.ts';

/** What a finished generation took. */
export interface GenerationFigures {
  readonly model: string;
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly generatedTokens: number;
  /** Draft tokens, and those of them that were accepted. */
  readonly proposedTokens: number;
  readonly acceptedTokens: number;
  /** From the first step of the prompt to the first token. */
  readonly promptSeconds: number;
  /** From the first token to the last. */
  readonly generateSeconds: number;
}

/** A finished request. */
export interface RequestFigures {
  readonly endpoint: string;
  /** The HTTP status; 499 where the client left before the end. */
  readonly status: number;
  readonly seconds: number;
}

/** What is looked up when somebody reads the metrics. */
export interface ServerGauges {
  readonly models: readonly ModelStatus[];
  /** Requests that generate or wait for it. */
  readonly activeRequests: number;
}

/** Counts what the server does; the platform brings a library for it. */
export interface ServerMetrics {
  request(figures: RequestFigures): void;
  refused(reason: 'busy' | 'limited' | 'draining'): void;
  generation(figures: GenerationFigures): void;
  /** Everything counted so far as text, with its content type. */
  exposition(gauges: ServerGauges): Promise<{ contentType: string; text: string }>;
}

/** Counts nothing. */
export const NO_METRICS: ServerMetrics = {
  request: () => undefined,
  refused: () => undefined,
  generation: () => undefined,
  exposition: async () => ({ contentType: 'text/plain', text: '' }),
};
