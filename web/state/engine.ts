import type { ChatMessage, ChatTool } from '../../src/browser/index.ts';

/** How an answer is sampled. What is undefined is as the model recommends. */
export interface Sampling {
  readonly temperature?: number | undefined;
  readonly topK?: number | undefined;
  readonly topP?: number | undefined;
  readonly minP?: number | undefined;
  readonly repeatPenalty?: number | undefined;
  readonly frequencyPenalty?: number | undefined;
  readonly presencePenalty?: number | undefined;
  readonly typicalP?: number | undefined;
  readonly topNSigma?: number | undefined;
  readonly xtcProbability?: number | undefined;
  readonly xtcThreshold?: number | undefined;
  readonly dynatempRange?: number | undefined;
  readonly dynatempExponent?: number | undefined;
  readonly penaltyWindow?: number | undefined;
  readonly dryMultiplier?: number | undefined;
  readonly dryBase?: number | undefined;
  readonly dryAllowedLength?: number | undefined;
  readonly dryPenaltyLastN?: number | undefined;
  readonly mirostat?: number | undefined;
  readonly mirostatTau?: number | undefined;
  readonly mirostatEta?: number | undefined;
  /** Undefined: up to the end of the context. */
  readonly maxTokens?: number | undefined;
  readonly seed?: number | undefined;
}

const SAMPLING_NAMES: Readonly<Record<keyof Sampling, true>> = {
  temperature: true,
  topK: true,
  topP: true,
  minP: true,
  repeatPenalty: true,
  frequencyPenalty: true,
  presencePenalty: true,
  typicalP: true,
  topNSigma: true,
  xtcProbability: true,
  xtcThreshold: true,
  dynatempRange: true,
  dynatempExponent: true,
  penaltyWindow: true,
  dryMultiplier: true,
  dryBase: true,
  dryAllowedLength: true,
  dryPenaltyLastN: true,
  mirostat: true,
  mirostatTau: true,
  mirostatEta: true,
  maxTokens: true,
  seed: true,
};

/** The sampling among other settings. */
export function samplingOf(settings: Sampling): Sampling {
  return Object.fromEntries(Object.entries(settings).filter(([name]) => name in SAMPLING_NAMES));
}

/** Number of recent tokens to which a repeat penalty applies, wherever the model runs, unless the settings say another. */
export const PENALTY_WINDOW = 64;

/** A conversation to answer. */
export interface AnswerRequest {
  readonly messages: readonly ChatMessage[];
  /** The last message is the assistant's, and the answer continues it. */
  readonly continues: boolean;
  readonly sampling: Sampling;
  /** Whether the model reasons before it answers, if it can; undefined: as it does by itself. */
  readonly thinks: boolean | undefined;
  /** Functions that may be called. */
  readonly tools: readonly ChatTool[];
  /** What the person adds to requests to a server, which may stand in the place of the rest. */
  readonly fields?: Readonly<Record<string, unknown>> | undefined;
  /** What the answer is called, if it should go on when this page leaves. */
  readonly name?: string | undefined;
  readonly signal: AbortSignal;
}

/** What comes of an answer: how far its prompt is, its text in pieces, and its end. */
export type AnswerEvent =
  | { readonly kind: 'prompt'; readonly tokens: number; readonly totalTokens: number }
  | { readonly kind: 'piece'; readonly text: string; readonly reasoning: string; readonly tokens: number }
  /** The connection was lost, and is made again. */
  | { readonly kind: 'lost' }
  | CallPiece
  | { readonly kind: 'end'; readonly end: AnswerEnd };

/** A piece of a call: its name or id, or what is added to its arguments. Calls count from 0. */
export interface CallPiece {
  readonly kind: 'call';
  readonly call: number;
  readonly id?: string | undefined;
  readonly name?: string | undefined;
  readonly text: string;
}

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
  /**
   * The events from the beginning of an answer that was begun under a name, and goes on. Throws `AnswerGone` if it is not there any
   * more. Engines that end with the page have none.
   */
  resume?(name: string, signal: AbortSignal): AsyncGenerator<AnswerEvent, void>;
}

/** An answer is not kept, or no longer. */
export class AnswerGone extends Error {}

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
