import type { Counter } from 'prom-client';
import type { GenerationEnd } from '../runtime/sequence.ts';

/** Creates a counter with additional labels. */
type MakeCounter = (name: string, help: string, labels?: string[]) => Counter;

/** What vLLM's and llama.cpp's servers count of draft tokens, by the names that both use. */
export class DraftCounters {
  readonly #steps: Counter;
  readonly #drafted: Counter;
  readonly #accepted: Counter;
  readonly #acceptedAt: Counter;

  constructor(make: MakeCounter) {
    this.#steps = make('spec_decode_num_drafts_total', 'Steps of sequences with draft tokens.');
    this.#drafted = make('spec_decode_num_draft_tokens_total', 'Draft tokens.');
    this.#accepted = make('spec_decode_num_accepted_tokens_total', 'Accepted draft tokens.');
    this.#acceptedAt = make(
      'spec_decode_num_accepted_tokens_per_pos_total',
      'Accepted draft tokens, by their position.',
      ['position'],
    );
  }

  /** Counts those of a generation. */
  generation(of: GenerationEnd, labels: Readonly<Record<string, string>> = {}): void {
    this.#steps.inc(labels, of.draftedSteps);
    this.#drafted.inc(labels, of.proposedTokens);
    this.#accepted.inc(labels, of.acceptedTokens);
    for (const [position, count] of of.acceptedByPosition.entries())
      this.#acceptedAt.inc({ ...labels, position }, count);
  }
}
