import type { GenerationEnd } from '../runtime/sequence.ts';
import type { ModelStatus } from './model-pool.ts';

/** What a finished generation took. */
export interface GenerationFigures extends Omit<GenerationEnd, 'reason'> {
  readonly model: string;
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
