import { isRocmforgeError } from '../../base/errors.ts';
import type { TextModel } from '../../engine/text-model.ts';
import { chatPrompt } from '../generation/answer-form.ts';
import { chatMessagesOfItems, type InputItem } from './response-items.ts';
import type { ResponsesBody } from './responses-schema.ts';

/** The part of the context that `truncation` leaves for an answer without a smaller limit. */
const ANSWER_PART = 1 / 4;

type PromptSetup = Parameters<typeof chatPrompt>[2];

/**
 * The prompt of a conversation. With `truncation: auto`, if it is too long, items are left out from the beginning, up to a message
 * of the user and as few as possible, but for those of the system and developer. Rejects with `CONTEXT_OVERFLOW` if the latest message alone
 * is too long, and as `chatPrompt`.
 */
export async function responsePrompt(
  model: TextModel,
  request: Pick<ResponsesBody, 'instructions' | 'truncation' | 'max_output_tokens'>,
  { items, from }: { readonly items: readonly InputItem[]; readonly from: number },
  setup: PromptSetup,
): Promise<number[]> {
  const promptFrom = (first: number) => {
    const kept = first === 0 ? items : items.filter((item, index) => index >= first || isStanding(item));
    return chatPrompt(model, chatMessagesOfItems(kept, request.instructions, from), setup);
  };
  if (request.truncation !== 'auto') return promptFrom(0);
  const { context } = model;
  const whole = await orTooLong(promptFrom(0));
  if (whole && whole.length < context) return whole;
  const answer = Math.min(request.max_output_tokens ?? context, Math.floor(context * ANSWER_PART));
  // What is left out makes the prompt shorter, so the first that fits is found by halving.
  const starts = [...items.keys()].filter((index) => index > 0 && items[index]?.role === 'user');
  let [low, high] = [0, starts.length - 1];
  let best: number[] | undefined;
  while (low <= high) {
    const middle = (low + high) >> 1;
    const prompt = await orTooLong(promptFrom(starts[middle] ?? 0));
    if (prompt && prompt.length <= context - answer) {
      best = prompt;
      high = middle - 1;
    } else low = middle + 1;
  }
  return best ?? promptFrom(starts.at(-1) ?? 0);
}

function isStanding({ role }: InputItem): boolean {
  return role === 'system' || role === 'developer';
}

/** Undefined for a prompt that is too long to be written. */
async function orTooLong(prompt: Promise<number[]>): Promise<number[] | undefined> {
  try {
    return await prompt;
  } catch (error) {
    if (isRocmforgeError(error, 'CONTEXT_OVERFLOW')) return undefined;
    throw error;
  }
}
