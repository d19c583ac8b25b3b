import { TEXTS } from '../texts.ts';
import { freshId, type ToolCall } from './chat-store.ts';
import type { CallPiece } from './engine.ts';

/** A call that will not run any more, if it has not. */
export function settledCall(call: ToolCall): ToolCall {
  const { state } = call;
  if (state === 'running') return { ...call, state: 'failed', result: TEXTS.call.ended };
  const isOpen = state === 'written' || state === 'asked';
  return isOpen ? { ...call, state: 'refused', result: TEXTS.call.refused } : call;
}

/** The calls with another piece of one. */
export function grownCalls(
  calls: readonly ToolCall[],
  { call, id, name, text }: CallPiece,
): readonly ToolCall[] {
  const grown = [...calls];
  const before = calls[call] ?? { id: freshId(), name: '', arguments: '', state: 'written' };
  grown[call] = {
    ...before,
    id: id ?? before.id,
    name: name ?? before.name,
    arguments: before.arguments + text,
  };
  return grown;
}
