import type { GenerationEnd } from '../runtime/sequence.ts';
import type { ModelStatus } from './model-pool.ts';

/** Token counts and times of a finished generation. */
export interface GenerationMetrics extends GenerationEnd {
  readonly model: string;
  readonly endpoint: string;
}

/** The prompts of a request that generates nothing. */
export interface PromptMetrics {
  readonly model: string;
  readonly tokens: number;
}

/** An emitted token. */
export interface TokenMetrics {
  readonly model: string;
  readonly endpoint: string;
  readonly isFirst: boolean;
  /** Since the request for a choice's first token, since the previous token for the others. */
  readonly seconds: number;
}

/** A finished request. */
export interface RequestMetrics {
  /** Its path: `/v1/completions`. */
  readonly endpoint: string;
  /** The HTTP status; 499 if the client disconnected before the end. */
  readonly status: number;
  readonly seconds: number;
}

/** Values that are read when the metrics are requested. */
export interface ServerGauges {
  readonly models: readonly ModelStatus[];
  /** Running and waiting requests. */
  readonly activeRequests: number;
}

/** The server's metrics; the platform provides the implementation. */
export interface ServerMetrics {
  /** A request was answered, or its client disconnected. */
  request(figures: RequestMetrics): void;
  /** A request was refused before anything was computed. */
  refused(reason: 'busy' | 'limited' | 'draining'): void;
  /** A token was emitted. */
  token(figures: TokenMetrics): void;
  /** Texts were embedded, ranked or classified. */
  prompt(figures: PromptMetrics): void;
  /** A generation has ended. */
  generation(figures: GenerationMetrics): void;
  /** All metrics as text, with the content type. */
  exposition(gauges: ServerGauges): Promise<{ contentType: string; text: string }>;
}

/** Counts nothing. */
export const NO_METRICS: ServerMetrics = {
  request: () => undefined,
  refused: () => undefined,
  token: () => undefined,
  prompt: () => undefined,
  generation: () => undefined,
  exposition: async () => ({ contentType: 'text/plain', text: '' }),
};
