import type { SentError } from '../base/sent-error.ts';

/**
 * The types of a kind of call: its arguments, the values that it streams, and its answer. Everything must be cloneable.
 */
export interface CallType {
  readonly asks: unknown;
  readonly value: unknown;
  readonly answer: unknown;
}

/** The kinds of calls between two threads, by name. */
export type CallTable<T> = { readonly [N in keyof T]: CallType };

/**
 * Caller to worker. A call has any number of `more` and ends with its answer; `finish`, `leave` or `abort` end it
 * early.
 */
export type CallMessage =
  | { readonly kind: 'call'; readonly id: number; readonly name: string; readonly asks: unknown }
  /** The reader took so many values: as many more may be sent. */
  | { readonly kind: 'more'; readonly id: number; readonly count: number }
  /** The reader wants no more values, but waits for the answer. */
  | { readonly kind: 'finish'; readonly id: number }
  /** The reader wants neither more values nor the answer. */
  | { readonly kind: 'leave'; readonly id: number }
  /** The caller's signal fired. */
  | { readonly kind: 'abort'; readonly id: number };

/**
 * Worker to caller: the results of all calls since the last message, sent together, so that a step of sixty-four
 * sequences is one message. For each call, its values come before its end.
 */
export interface AnswerMessage {
  /** Call ids and their values, alternating. */
  readonly values: readonly unknown[];
  readonly ends: readonly CallEnd[];
}

/** How a call ended. */
export type CallEnd =
  | { readonly kind: 'done'; readonly id: number; readonly answer: unknown }
  | { readonly kind: 'failed'; readonly id: number; readonly error: SentError };

/** Maximum values of a call that may be in flight before its reader took one. */
export const WINDOW = 32;
