import { Counter, Gauge, type Registry } from 'prom-client';
import { DraftCounters } from './draft-counters.ts';
import type { GenerationMetrics, PromptMetrics, ServerGauges } from '../server/index.ts';

/** What was counted since the last look. */
interface Window {
  promptTokens: number;
  promptSeconds: number;
  generatedTokens: number;
  generatedSeconds: number;
}

const EMPTY: Window = { promptTokens: 0, promptSeconds: 0, generatedTokens: 0, generatedSeconds: 0 };

/**
 * What llama.cpp's server counts, by the same names and without labels: totals of all models. Its two rates are those since
 * the metrics were last read.
 */
export class LlamaMetrics {
  readonly #registers: Registry[];
  readonly #prompt: Counter;
  readonly #cached: Counter;
  readonly #promptSeconds: Counter;
  readonly #generated: Counter;
  readonly #generatedSeconds: Counter;
  readonly #steps: Counter;
  readonly #longest: Counter;
  readonly #drafts: DraftCounters;
  readonly #promptRate: Gauge;
  readonly #generatedRate: Gauge;
  readonly #running: Gauge;
  readonly #waiting: Gauge;
  readonly #busy: Gauge;
  #window = EMPTY;
  #maximum = 0;
  #rows = 0;
  /** The steps of each model when they were last read. */
  readonly #seen = new Map<string, number>();
  #total = 0;

  constructor(registry: Registry) {
    this.#registers = [registry];
    this.#prompt = this.#counter('prompt_tokens_total', 'Computed tokens of prompts.');
    this.#cached = this.#counter('prompt_tokens_cached_total', 'Tokens of prompts found in the cache.');
    this.#promptSeconds = this.#counter('prompt_seconds_total', 'Time of prompts.');
    this.#generated = this.#counter('tokens_predicted_total', 'Generated tokens.');
    this.#generatedSeconds = this.#counter('tokens_predicted_seconds_total', 'Time of generated tokens.');
    this.#steps = this.#counter('n_decode_total', 'Steps of the models.');
    this.#longest = this.#counter('n_tokens_max', 'Tokens of the longest sequence.');
    this.#drafts = new DraftCounters((name, help, labels) => this.#counter(name, help, labels));
    this.#promptRate = this.#gauge('prompt_tokens_seconds', 'Computed tokens of prompts per second.');
    this.#generatedRate = this.#gauge('predicted_tokens_seconds', 'Generated tokens per second.');
    this.#running = this.#gauge('requests_processing', 'Sequences that have a slot.');
    this.#waiting = this.#gauge('requests_deferred', 'Sequences that wait for a slot.');
    this.#busy = this.#gauge('n_busy_slots_per_decode', 'Generated tokens per step.');
  }

  generation(figures: GenerationMetrics): void {
    const { promptTokens, cachedTokens, generatedTokens, promptSeconds, generateSeconds } = figures;
    const computed = promptTokens - cachedTokens;
    this.#prompt.inc(computed);
    this.#cached.inc(cachedTokens);
    this.#promptSeconds.inc(promptSeconds);
    this.#generated.inc(generatedTokens);
    this.#generatedSeconds.inc(generateSeconds);
    this.#drafts.generation(figures);
    const longest = promptTokens + generatedTokens;
    this.#longest.inc(Math.max(0, longest - this.#maximum));
    this.#maximum = Math.max(this.#maximum, longest);
    this.#rows += generatedTokens;
    const { promptTokens: p, promptSeconds: ps, generatedTokens: g, generatedSeconds: gs } = this.#window;
    this.#window = {
      promptTokens: p + computed,
      promptSeconds: ps + promptSeconds,
      generatedTokens: g + generatedTokens,
      generatedSeconds: gs + generateSeconds,
    };
  }

  /** A text that was embedded, ranked or classified. */
  prompt({ tokens }: PromptMetrics): void {
    this.#prompt.inc(tokens);
  }

  /** Reads what is going on, and begins a new window of the rates. */
  look(models: ServerGauges['models']): void {
    const sequences = models.flatMap(({ model }) => model?.activity.sequences ?? []);
    const running = sequences.filter(({ slot }) => slot >= 0).length;
    this.#running.set(running);
    this.#waiting.set(sequences.length - running);
    for (const { id, model } of models) this.#countSteps(id, model?.counters.steps ?? 0);
    this.#busy.set(this.#total > 0 ? this.#rows / this.#total : 0);
    const { promptTokens, promptSeconds, generatedTokens, generatedSeconds } = this.#window;
    this.#promptRate.set(promptSeconds > 0 ? promptTokens / promptSeconds : 0);
    this.#generatedRate.set(generatedSeconds > 0 ? generatedTokens / generatedSeconds : 0);
    this.#window = EMPTY;
  }

  /** A model that was loaded again counts from 0. */
  #countSteps(id: string, steps: number): void {
    const before = this.#seen.get(id) ?? 0;
    const more = steps >= before ? steps - before : steps;
    this.#seen.set(id, steps);
    this.#steps.inc(more);
    this.#total += more;
  }

  #counter(name: string, help: string, labelNames: string[] = []): Counter {
    return new Counter({ name: `llamacpp:${name}`, help, labelNames, registers: this.#registers });
  }

  #gauge(name: string, help: string): Gauge {
    return new Gauge({ name: `llamacpp:${name}`, help, registers: this.#registers });
  }
}
