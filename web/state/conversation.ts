import { type Signal, signal } from '@preact/signals';
import { type BrowserModel, type ChatMessage, isRocmforgeError } from '../../src/browser/index.ts';
import type { SettingValues } from './settings.ts';

/** One turn of a conversation. Answers grow while they are generated. */
export interface Turn {
  readonly id: number;
  readonly role: 'user' | 'assistant';
  readonly text: string;
  /** The model's reasoning before its answer. */
  readonly reasoning?: string;
  readonly state: 'writing' | 'done' | 'stopped' | 'failed';
  readonly error?: unknown;
  readonly pace?: Pace;
}

/** The speed of an answer. */
export interface Pace {
  readonly tokens: number;
  /** Undefined until there are two tokens to measure between. */
  readonly tokensPerSecond: number | undefined;
}

/** Number of recent tokens to which the repeat penalty applies. */
const PENALTY_WINDOW = 64;

/** A conversation with the page's model: its turns, and the answer being generated. */
export class Conversation {
  readonly turns = signal<readonly Turn[]>([]);
  readonly answering = signal(false);
  readonly #settings: Signal<SettingValues>;
  #nextId = 0;
  #stopping: AbortController | undefined;

  constructor(settings: Signal<SettingValues>) {
    this.#settings = settings;
  }

  /** Sends a message and generates the answer. Never rejects: the answer records a failure. */
  async send(model: BrowserModel, text: string): Promise<void> {
    this.#add({ role: 'user', text, state: 'done' });
    await this.#answer(model);
  }

  /** Regenerates the last answer. */
  async retry(model: BrowserModel): Promise<void> {
    const { value: turns } = this.turns;
    if (turns.at(-1)?.role !== 'assistant') return;
    this.turns.value = turns.slice(0, -1);
    await this.#answer(model);
  }

  /** Stops generating the answer. */
  stop(): void {
    this.#stopping?.abort();
  }

  clear(): void {
    this.stop();
    this.turns.value = [];
  }

  async #answer(model: BrowserModel): Promise<void> {
    const messages = this.#messages();
    const answer = this.#add({ role: 'assistant', text: '', state: 'writing' });
    const stopping = new AbortController();
    this.#stopping = stopping;
    this.answering.value = true;
    try {
      await this.#write(answer.id, model.chat(messages, { ...this.#sampling(), signal: stopping.signal }));
      this.#change(answer.id, () => ({ state: 'done' }));
    } catch (error) {
      const stopped = isRocmforgeError(error, 'ABORTED') || stopping.signal.aborted;
      this.#change(answer.id, () => (stopped ? { state: 'stopped' } : { state: 'failed', error }));
    } finally {
      if (this.#stopping === stopping) this.answering.value = false;
    }
  }

  async #write(id: number, stream: ReturnType<BrowserModel['chat']>): Promise<void> {
    let tokens = 0;
    let first = 0;
    for await (const { text, reasoning, token } of stream) {
      const now = performance.now();
      if (token) tokens++;
      if (tokens === 1) first = now;
      const tokensPerSecond = tokens > 1 ? ((tokens - 1) / (now - first)) * 1000 : undefined;
      this.#change(id, (turn) => ({
        text: turn.text + text,
        ...(reasoning !== '' && { reasoning: (turn.reasoning ?? '') + reasoning }),
        pace: { tokens, tokensPerSecond },
      }));
    }
  }

  #sampling() {
    const { temperature, topP, repeatPenalty, maxTokens, seed } = this.#settings.value;
    const penalty = { repeatPenalty, penaltyWindow: PENALTY_WINDOW };
    return { temperature, topP, maxTokens, ...penalty, ...(seed !== undefined && { seed }) };
  }

  #messages(): ChatMessage[] {
    const system = this.#settings.value.system.trim();
    const { value: all } = this.turns;
    // A question without any answer is left out, because templates reject two consecutive user messages.
    const isUnanswered = (i: number) => all[i + 1]?.role === 'assistant' && all[i + 1]?.text === '';
    const said = all.filter(({ role, text }, i) => text !== '' && !(role === 'user' && isUnanswered(i)));
    const turns = said.map(({ role, text, reasoning }) => ({
      role,
      content: text,
      // Templates know which parts of it a model expects to see again.
      ...(reasoning !== undefined && { reasoning_content: reasoning }),
    }));
    return system === '' ? turns : [{ role: 'system', content: system }, ...turns];
  }

  #add(turn: Omit<Turn, 'id'>): Turn {
    const added = { ...turn, id: this.#nextId++ };
    this.turns.value = [...this.turns.value, added];
    return added;
  }

  #change(id: number, change: (turn: Turn) => Partial<Turn>): void {
    this.turns.value = this.turns.value.map((turn) => (turn.id === id ? { ...turn, ...change(turn) } : turn));
  }
}
