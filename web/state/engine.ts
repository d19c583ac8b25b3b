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

/** Whether a setting is one of sampling. */
export function isSampling(name: string): name is keyof Sampling {
  return Object.hasOwn(SAMPLING_NAMES, name);
}

/** The sampling among other settings. */
export function samplingOf(settings: Sampling): Sampling {
  return Object.fromEntries(Object.entries(settings).filter(([name]) => isSampling(name)));
}

/** Number of recent tokens to which a repeat penalty applies, wherever the model runs, unless the settings say another. */
export const PENALTY_WINDOW = 64;

/** How a model is to reason before it answers: by the switch of its template, or with so many tokens at most. */
export interface ReasoningWish {
  readonly enabled?: boolean;
  readonly budget?: number;
}

/** An answer at once: where a model cannot be told not to reason, it is ended as soon as it begins. */
export const NO_REASONING: readonly ReasoningWish[] = [{ enabled: false }, { budget: 0 }];

/** The code of errors that say that a model cannot be told to reason so. */
export const NO_SUCH_REASONING = 'REASONING_UNSUPPORTED';

/** A conversation to answer. */
export interface AnswerRequest {
  readonly messages: readonly ChatMessage[];
  /** The last message is the assistant's, and the answer continues it. */
  readonly continues: boolean;
  readonly sampling: Sampling;
  /** How the model reasons before it answers: what it can do of these, the first one first; by itself, if it can none. */
  readonly reasoning: readonly ReasoningWish[];
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

/** The model cannot be told to reason as it was wished. */
export class ReasoningRefused extends Error {}

/**
 * The events of an answer that is asked for with each wish in turn until one is not refused, at last with none. What was refused is
 * remembered: only the model's own template tells what it can.
 */
export async function* reasonedAnswer(
  wishes: readonly ReasoningWish[],
  refused: Set<ReasoningWish>,
  ask: (wish: ReasoningWish | undefined) => AsyncGenerator<AnswerEvent, void>,
): AsyncGenerator<AnswerEvent, void> {
  for (const wish of wishes) {
    if (refused.has(wish)) continue;
    try {
      return yield* ask(wish);
    } catch (error) {
      if (!(error instanceof ReasoningRefused)) throw error;
      refused.add(wish);
    }
  }
  yield* ask(undefined);
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
