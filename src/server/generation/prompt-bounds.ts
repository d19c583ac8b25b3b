import { fail } from '../../base/errors.ts';
import type { TextModel } from '../../engine/text-model.ts';
import type { ChatMessage } from '../../text/index.ts';

/**
 * Refuses a text with more characters than the context's tokens could cover, before it is processed. Throws
 * `CONTEXT_OVERFLOW`.
 */
export function requireTextFits(model: TextModel, text: string): void {
  requireFits(model, Math.ceil(text.length / model.tokenizer.longestToken));
}

/**
 * Refuses a conversation with too much text, or with more messages than the context has tokens. Throws
 * `CONTEXT_OVERFLOW`.
 */
export function requireTurnsFit(model: TextModel, messages: readonly ChatMessage[]): void {
  requireFits(model, messages.length);
  let characters = 0;
  // Earlier reasoning does not count, because templates may leave it out.
  for (const { content } of messages) if (typeof content === 'string') characters += content.length;
  requireFits(model, Math.ceil(characters / model.tokenizer.longestToken));
}

function requireFits({ context }: TextModel, tokens: number): void {
  if (tokens > context) fail('CONTEXT_OVERFLOW', { tokens, context, counted: false });
}
