import type { SentError } from '../base/sent-error.ts';

/** What a kind of call asks, the values that come while it runs, and its answer. Only what can be cloned crosses. */
export interface CallType {
  readonly asks: unknown;
  readonly value: unknown;
  readonly answer: unknown;
}

/** The kinds of calls between two threads, by name. */
export type CallTable<T> = { readonly [N in keyof T]: CallType };

/** Caller to worker. A call has any number of `more` and ends with its answer, hurried by `finish`, `leave` or `abort`. */
export type CallMessage =
  | { readonly kind: 'call'; readonly id: number; readonly name: string; readonly asks: unknown }
  /** The reader took so many values: as many more may be sent. */
  | { readonly kind: 'more'; readonly id: number; readonly count: number }
  /** The reader has read enough, and waits for the answer. */
  | { readonly kind: 'finish'; readonly id: number }
  /** The reader has read enough, and nobody waits for the answer. */
  | { readonly kind: 'leave'; readonly id: number }
  /** The caller's signal fired. */
  | { readonly kind: 'abort'; readonly id: number };

/**
 * Worker to caller: what came of all calls in one stretch of the worker's time, so that a step of sixty-four sequences is one
 * message. Of each call, its values come before its end.
 */
export interface AnswerMessage {
  /** A call's id and its value, by turns. */
  readonly values: readonly unknown[];
  readonly ends: readonly CallEnd[];
}

/** How a call ended. */
export type CallEnd =
  | { readonly kind: 'done'; readonly id: number; readonly answer: unknown }
  | { readonly kind: 'failed'; readonly id: number; readonly error: SentError };

/** Values of a call that may be on their way before its reader took one. */
export const WINDOW = 32;
