/** Calls between threads: the caller's side, the worker's side, and their messages. */
export { CallClient, type CallHandle, type CallListener, type CallOptions } from './call-client.ts';
export { type CallTable, type CallType, WINDOW } from './messages.ts';
export { ProgressWatch } from './progress-watch.ts';
export { type CallAnswers, type CallContext, type CallReactions, serveCalls } from './serve-calls.ts';
