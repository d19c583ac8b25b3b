import type { ChatMessage } from '../../src/browser/index.ts';

/** How an answer is sampled. What is undefined is as the model recommends. */
export interface Sampling {
  readonly temperature?: number | undefined;
  readonly topK?: number | undefined;
  readonly topP?: number | undefined;
  readonly minP?: number | undefined;
  readonly repeatPenalty?: number | undefined;
  readonly frequencyPenalty?: number | undefined;
  readonly presencePenalty?: number | undefined;
  /** Undefined: up to the end of the context. */
  readonly maxTokens?: number | undefined;
  readonly seed?: number | undefined;
}

/** Number of recent tokens to which a repeat penalty applies, wherever the model runs. */
export const PENALTY_WINDOW = 64;

/** A conversation to answer. */
export interface AnswerRequest {
  readonly messages: readonly ChatMessage[];
  /** The last message is the assistant's, and the answer continues it. */
  readonly continues: boolean;
  readonly sampling: Sampling;
  readonly signal: AbortSignal;
}

/** What comes of an answer: how far its prompt is, its text in pieces, and its end. */
export type AnswerEvent =
  | { readonly kind: 'prompt'; readonly tokens: number; readonly totalTokens: number }
  | { readonly kind: 'piece'; readonly text: string; readonly reasoning: string; readonly tokens: number }
  | { readonly kind: 'end'; readonly end: AnswerEnd };

/** How an answer ended, by the engine's own counts. */
export interface AnswerEnd {
  /** `stop`: the model had finished. `length`: a limit or the context was reached. */
  readonly reason: 'stop' | 'length';
  readonly promptTokens: number;
  readonly generatedTokens: number;
}

/** What answers a conversation: a model in this browser, or one on the server that the page comes from. */
export interface ChatEngine {
  readonly place: 'browser' | 'server';
  readonly title: string;
  /** What computes, for people. */
  readonly device: string;
  /** Maximum tokens of a conversation with its answer; undefined while the server has not loaded the model. */
  readonly context: number | undefined;
  /**
   * The events of an answer, `end` last. Throws `ContextFull` if the conversation does not fit, and whatever else fails
   * as it is; aborted, it throws or ends.
   */
  answer(request: AnswerRequest): AsyncGenerator<AnswerEvent, void>;
}

/** A conversation is longer than the model's context. */
export class ContextFull extends Error {
  /** Tokens of the conversation. */
  readonly tokens: number;
  readonly context: number;

  constructor(tokens: number, context: number, options?: ErrorOptions) {
    super(`${tokens} > ${context}`, options);
    this.tokens = tokens;
    this.context = context;
  }
}

/** The properties that have a value. */
export function present<T extends object>(of: T): { [K in keyof T]?: NonNullable<T[K]> } {
  const entries = Object.entries(of).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]?: NonNullable<T[K]> };
}
