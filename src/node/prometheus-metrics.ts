import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type {
  GenerationMetrics,
  RequestMetrics,
  ServerGauges,
  PromptMetrics,
  ServerMetrics,
  TokenMetrics,
} from '../server/index.ts';
import { LlamaMetrics } from './llama-metrics.ts';
import { VllmMetrics } from './vllm-metrics.ts';

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];
const TOKEN_SECONDS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1];

/** The server's counters for Prometheus, with those of the process. */
export class PrometheusMetrics implements ServerMetrics {
  readonly #registry = new Registry();
  readonly #registers = [this.#registry];
  readonly #requests = new Histogram({
    name: 'rocmforge_request_duration_seconds',
    help: 'Requests by endpoint and status, from the first byte read to the last one sent.',
    labelNames: ['endpoint', 'status'],
    buckets: SECONDS,
    registers: this.#registers,
  });
  readonly #refused = new Counter({
    name: 'rocmforge_requests_refused_total',
    help: 'Requests that were refused because the server was busy or shutting down.',
    labelNames: ['reason'],
    registers: this.#registers,
  });
  readonly #tokens = new Counter({
    name: 'rocmforge_tokens_total',
    help: 'Tokens of prompts (computed or found in the cache) and generated ones.',
    labelNames: ['model', 'kind'],
    registers: this.#registers,
  });
  readonly #draftTokens = new Counter({
    name: 'rocmforge_draft_tokens_total',
    help: 'Tokens that a draft model or a repetition proposed, by whether the model said them.',
    labelNames: ['model', 'outcome'],
    registers: this.#registers,
  });
  readonly #prompt = new Histogram({
    name: 'rocmforge_prompt_seconds',
    help: 'From the first step of a prompt to its first token.',
    labelNames: ['model'],
    buckets: SECONDS,
    registers: this.#registers,
  });
  readonly #token = new Histogram({
    name: 'rocmforge_token_seconds',
    help: 'Mean time between the tokens of a sequence.',
    labelNames: ['model'],
    buckets: TOKEN_SECONDS,
    registers: this.#registers,
  });
  readonly #active = this.#gauge('rocmforge_active_requests', 'Requests that generate or wait for it.');
  readonly #loaded = this.#gauge('rocmforge_model_loaded', 'The part of a model that is loaded.', ['model']);
  readonly #sequences = this.#gauge('rocmforge_sequences', 'Sequences by what they are doing.', [
    'model',
    'state',
  ]);
  readonly #recorded = this.#gauge(
    'rocmforge_whole_steps',
    'Whole steps since the device was opened: ready when wanted (hit) or not (miss); recorded ahead, and wanted since.',
    ['model', 'state'],
  );

  readonly #experts = this.#gauge(
    'rocmforge_experts',
    'Chosen experts since the device was opened, where not all are on it: on the device (hit) or not (miss), per layer and step if they are streamed, else per choice; loaded before they were chosen (ahead), and those that then were (ahead_used).',
    ['model', 'state'],
  );
  readonly #expertBytes = this.#gauge(
    'rocmforge_expert_bytes',
    'Bytes of experts that were uploaded or copied to the device because rows chose them, since it was opened.',
    ['model'],
  );

  readonly #memory = this.#gauge(
    'rocmforge_card_memory_bytes',
    'Bytes of memory, used and free, of the device of a model, or of each of several devices by rank or replica.',
    ['model', 'card', 'name', 'state'],
  );

  readonly #vllm = new VllmMetrics(this.#registry);
  readonly #llama = new LlamaMetrics(this.#registry);

  constructor() {
    collectDefaultMetrics({ register: this.#registry });
  }

  request({ endpoint, status, seconds }: RequestMetrics): void {
    this.#requests.observe({ endpoint, status: String(status) }, seconds);
  }

  refused(reason: 'busy' | 'limited' | 'draining'): void {
    this.#refused.inc({ reason });
  }

  token(figures: TokenMetrics): void {
    this.#vllm.token(figures);
  }

  prompt({ model, tokens }: PromptMetrics): void {
    this.#vllm.prompt({ model, tokens });
    this.#llama.prompt({ model, tokens });
    this.#tokens.inc({ model, kind: 'prompt_computed' }, tokens);
  }

  generation(figures: GenerationMetrics): void {
    this.#vllm.generation(figures);
    this.#llama.generation(figures);
    const { model, promptTokens, cachedTokens, generatedTokens } = figures;
    this.#tokens.inc({ model, kind: 'prompt_computed' }, promptTokens - cachedTokens);
    this.#tokens.inc({ model, kind: 'prompt_cached' }, cachedTokens);
    this.#tokens.inc({ model, kind: 'generated' }, generatedTokens);
    const { proposedTokens, acceptedTokens } = figures;
    this.#draftTokens.inc({ model, outcome: 'accepted' }, acceptedTokens);
    this.#draftTokens.inc({ model, outcome: 'rejected' }, proposedTokens - acceptedTokens);
    this.#prompt.observe({ model }, figures.promptSeconds);
    if (generatedTokens > 1) {
      this.#token.observe({ model }, figures.generateSeconds / (generatedTokens - 1));
    }
  }

  async exposition({ models, activeRequests }: ServerGauges): Promise<{ contentType: string; text: string }> {
    this.#active.set(activeRequests);
    this.#vllm.look(models);
    this.#llama.look(models);
    this.#sequences.reset();
    await this.#lookAtMemory(models);
    for (const { id, progress, model } of models) {
      this.#loaded.set({ model: id }, progress);
      if (!model) continue;
      for (const { state } of model.activity.sequences) this.#sequences.inc({ model: id, state });
      const { preparedHits, preparedMisses, preparedAhead, preparedAheadUsed } = model.counters;
      this.#recorded.set({ model: id, state: 'hit' }, preparedHits);
      this.#recorded.set({ model: id, state: 'miss' }, preparedMisses);
      this.#recorded.set({ model: id, state: 'ahead' }, preparedAhead);
      this.#recorded.set({ model: id, state: 'ahead_used' }, preparedAheadUsed);
      const { expertHits, expertMisses, expertPrefetches, expertPrefetchesUsed, expertBytes } =
        model.counters;
      this.#experts.set({ model: id, state: 'hit' }, expertHits);
      this.#experts.set({ model: id, state: 'miss' }, expertMisses);
      this.#experts.set({ model: id, state: 'ahead' }, expertPrefetches);
      this.#experts.set({ model: id, state: 'ahead_used' }, expertPrefetchesUsed);
      this.#expertBytes.set({ model: id }, expertBytes);
    }
    return { contentType: this.#registry.contentType, text: await this.#registry.metrics() };
  }

  /** A device that is lost just now has none. */
  async #lookAtMemory(models: ServerGauges['models']): Promise<void> {
    const found = await Promise.all(
      models.map(async ({ id, model }) => ({ id, cards: (await model?.cards().catch(() => [])) ?? [] })),
    );
    this.#memory.reset();
    for (const { id, cards } of found) {
      for (const [card, { name, total, free }] of cards.entries()) {
        const labels = { model: id, card: String(card), name };
        this.#memory.set({ ...labels, state: 'used' }, total - free);
        this.#memory.set({ ...labels, state: 'free' }, free);
      }
    }
  }

  #gauge(name: string, help: string, labelNames: string[] = []): Gauge {
    return new Gauge({ name, help, labelNames, registers: this.#registers });
  }
}
