import type { SentError } from '../../base/sent-error.ts';

/** Page to worker. A call of an id has any number of `more` and ends with its answer, hurried by `leave` or `abort`. */
export type CallMessage =
  | { readonly kind: 'call'; readonly id: number; readonly call: unknown }
  /** The reader took a value: one more may be sent. */
  | { readonly kind: 'more'; readonly id: number }
  /** The reader has read enough. */
  | { readonly kind: 'leave'; readonly id: number }
  /** The caller's signal fired. */
  | { readonly kind: 'abort'; readonly id: number };

/** Worker to page: any number of values, then `done` or `failed`. */
export type AnswerMessage =
  | { readonly kind: 'value'; readonly id: number; readonly value: unknown }
  | { readonly kind: 'done'; readonly id: number; readonly value: unknown }
  | { readonly kind: 'failed'; readonly id: number; readonly error: SentError };
