import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { DraftCounters } from './draft-counters.ts';
import type { GenerationMetrics, PromptMetrics, ServerGauges, TokenMetrics } from '../server/index.ts';

type ModelStatus = ServerGauges['models'][number];

/** vLLM's buckets, in seconds: of requests and their parts, of first tokens, and of the time between tokens. */
const REQUEST_SECONDS = [0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960];
const FIRST_SECONDS = [
  0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80,
];
const TOKEN_SECONDS = [
  0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80,
];

const LABELS = ['model_name', 'endpoint'];

/**
 * What vLLM's server counts, by the same names, so that routers and dashboards for it (llm-d, the Gateway API Inference Extension)
 * read this server, too. Histograms also tell the endpoint.
 */
export class VllmMetrics {
  readonly #registers: Registry[];
  readonly #running: Gauge;
  readonly #waiting: Gauge;
  readonly #cacheUsage: Gauge;
  readonly #cacheConfig: Gauge;
  readonly #adapters: Gauge;
  readonly #prompt: Counter;
  readonly #generated: Counter;
  readonly #cacheQueries: Counter;
  readonly #cacheHits: Counter;
  readonly #drafts: DraftCounters;
  readonly #succeeded: Counter;
  readonly #firstToken: Histogram;
  readonly #nextToken: Histogram;
  readonly #queue: Histogram;
  readonly #prefill: Histogram;
  readonly #decode: Histogram;

  constructor(registry: Registry) {
    this.#registers = [registry];
    this.#running = this.#gauge('num_requests_running', 'Sequences that have a slot.');
    this.#waiting = this.#gauge(
      'num_requests_waiting',
      'Sequences that wait for a slot, and requests that wait for the model.',
    );
    this.#cacheUsage = this.#gauge(
      'kv_cache_usage_perc',
      'The part of the KV cache that running sequences use, from 0 to 1.',
    );
    this.#cacheConfig = this.#gauge('cache_config_info', 'How the KV cache is divided.', [
      'block_size',
      'num_gpu_blocks',
    ]);
    this.#adapters = this.#gauge('lora_requests_info', 'LoRA adapters in use, and when that was.', [
      'max_lora',
      'running_lora_adapters',
      'waiting_lora_adapters',
    ]);
    this.#prompt = this.#counter('prompt_tokens_total', 'Tokens of prompts.');
    this.#generated = this.#counter('generation_tokens_total', 'Generated tokens.');
    this.#cacheQueries = this.#counter(
      'prefix_cache_queries_total',
      'Tokens of prompts that were looked for in the cache.',
    );
    this.#cacheHits = this.#counter(
      'prefix_cache_hits_total',
      'Tokens of prompts that were found in the cache.',
    );
    this.#drafts = new DraftCounters((name, help, labels) => this.#counter(name, help, labels));
    this.#succeeded = this.#counter('request_success_total', 'Answers that came to their end.', [
      'finished_reason',
    ]);
    this.#firstToken = this.#histogram(
      'time_to_first_token_seconds',
      'From the request to the first token.',
      FIRST_SECONDS,
    );
    this.#nextToken = this.#histogram('inter_token_latency_seconds', 'Between two tokens.', TOKEN_SECONDS);
    this.#queue = this.#histogram(
      'request_queue_time_seconds',
      'From the request to its first step.',
      REQUEST_SECONDS,
    );
    this.#prefill = this.#histogram(
      'request_prefill_time_seconds',
      'From the first step to the first token.',
      REQUEST_SECONDS,
    );
    this.#decode = this.#histogram(
      'request_decode_time_seconds',
      'From the first token to the last.',
      REQUEST_SECONDS,
    );
  }

  token({ model, endpoint, isFirst, seconds }: TokenMetrics): void {
    (isFirst ? this.#firstToken : this.#nextToken).observe({ model_name: model, endpoint }, seconds);
  }

  prompt({ model, tokens }: PromptMetrics): void {
    this.#prompt.inc({ model_name: model }, tokens);
  }

  generation(figures: GenerationMetrics): void {
    const { endpoint, promptTokens, cachedTokens, reason } = figures;
    const model = { model_name: figures.model };
    this.#prompt.inc(model, promptTokens);
    this.#generated.inc(model, figures.generatedTokens);
    this.#cacheQueries.inc(model, promptTokens);
    this.#cacheHits.inc(model, cachedTokens);
    this.#drafts.generation(figures, model);
    this.#succeeded.inc({ ...model, finished_reason: reason });
    this.#queue.observe({ ...model, endpoint }, figures.queueSeconds);
    this.#prefill.observe({ ...model, endpoint }, figures.promptSeconds);
    this.#decode.observe({ ...model, endpoint }, figures.generateSeconds);
  }

  /** Looks what is going on. */
  look(models: readonly ModelStatus[]): void {
    for (const gauge of [this.#running, this.#waiting, this.#cacheUsage, this.#cacheConfig, this.#adapters])
      gauge.reset();
    for (const status of models) this.#lookAt(status);
  }

  #lookAt({ id, users, model }: ModelStatus): void {
    const of = { model_name: id };
    const { sequences = [], cache } = model?.activity ?? {};
    const waiting = sequences.filter(({ slot }) => slot < 0);
    const running = sequences.filter(({ slot }) => slot >= 0);
    this.#running.set(of, running.length);
    this.#waiting.set(of, model ? waiting.length : users);
    if (!model || !cache) return;
    this.#cacheUsage.set(of, cache.blocks > 0 ? cache.used / cache.blocks : 0);
    this.#cacheConfig.set({ ...of, block_size: cache.blockSize, num_gpu_blocks: cache.blocks }, 1);
    if (model.maxAdapters === 0) return;
    const names = [...model.adapters.keys()];
    const named = (of: typeof sequences) =>
      [...new Set(of.flatMap(({ adapters }) => adapters))].map((index) => names[index]).join(',');
    const adapters = { running_lora_adapters: named(running), waiting_lora_adapters: named(waiting) };
    this.#adapters.set({ ...of, max_lora: model.maxAdapters, ...adapters }, Date.now() / 1000);
  }

  #gauge(name: string, help: string, labels: string[] = []): Gauge {
    return new Gauge({
      ...named(name, help),
      labelNames: ['model_name', ...labels],
      registers: this.#registers,
    });
  }

  #counter(name: string, help: string, labels: string[] = []): Counter {
    return new Counter({
      ...named(name, help),
      labelNames: ['model_name', ...labels],
      registers: this.#registers,
    });
  }

  #histogram(name: string, help: string, buckets: number[]): Histogram {
    return new Histogram({ ...named(name, help), labelNames: LABELS, buckets, registers: this.#registers });
  }
}

function named(name: string, help: string): { name: string; help: string } {
  return { name: `vllm:${name}`, help };
}
