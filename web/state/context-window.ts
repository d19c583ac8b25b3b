import type { ChatMessage } from '../../src/browser/index.ts';
import { TEXTS } from '../texts.ts';
import type { ToolCall, Turn } from './chat-store.ts';

/** Tokens for a character of text whose tokens were never counted; few languages take more. */
export const TOKENS_PER_CHARACTER = 0.4;

/** The part of a context that is left to an answer, and at most so many tokens. */
export const ROOM = { share: 0.25, most: 1024 } as const;

/**
 * The part of a context that is filled anew once turns have to be left out. More are left out than has to be, so that the next
 * questions begin where this one does: the engine has read that beginning already, and goes on from it.
 */
const FILLED_ANEW = 0.7;

/** What of a conversation is sent. */
export interface SentMessages {
  readonly messages: readonly ChatMessage[];
  /** Turns at the beginning that are left out. */
  readonly leftOut: number;
}

/** What decides how much of a conversation is sent. */
export interface WindowTerms {
  readonly system: string;
  /** The model's context, if it is known. */
  readonly context: number | undefined;
  /** Tokens for a character, as counted before. */
  readonly tokensPerCharacter?: number | undefined;
  /** What the model is told of turns before these. */
  readonly summary?: string | undefined;
}

/**
 * The messages for a branch of a conversation. Where they would leave no room for an answer, the oldest turns are left out, a
 * question with its answers at a time; the last question always stays. Of an answer that is to be continued the end is sent.
 */
export function fittingMessages(turns: readonly Turn[], terms: WindowTerms): SentMessages {
  const { context = Number.POSITIVE_INFINITY, tokensPerCharacter = TOKENS_PER_CHARACTER } = terms;
  const room = Math.min(ROOM.most, context * ROOM.share);
  const told = terms.summary === undefined ? '' : TEXTS.summary.told(terms.summary);
  const budget = (context - room) / tokensPerCharacter - terms.system.length - told.length;
  let length = turns.reduce((sum, turn) => sum + lengthOf(turn), 0);
  const lastQuestion = turns.findLastIndex(({ role }) => role === 'user');
  let first = 0;
  for (let at = 0; length > budget && at < lastQuestion; at++) {
    length -= lengthOf(turns[at]);
    // Conversations begin with a question: templates reject others.
    if (turns[at + 1]?.role === 'user') first = at + 1;
  }
  const sent = turns.slice(first);
  const last = sent.at(-1);
  // An answer that fills the context by itself goes on from its end.
  if (last?.role === 'assistant' && length > budget) {
    const kept = Math.max(1, Math.floor(last.text.length - (length - budget)));
    sent[sent.length - 1] = { ...last, text: last.text.slice(-kept) };
  }
  return { messages: withTold(messagesOf(sent, terms.system), told), leftOut: first };
}

/**
 * The messages for a branch as `fittingMessages` has them, from where those of its last answers began as long as that fits. A
 * branch that fits is sent whole.
 */
export function steppedMessages(turns: readonly Turn[], terms: WindowTerms): SentMessages {
  const whole = fittingMessages(turns, terms);
  const { context } = terms;
  if (whole.leftOut === 0 || context === undefined) return whole;
  const begun = turns.findLast(({ begin }) => begin !== undefined)?.begin;
  let from = Math.max(
    0,
    turns.findIndex(({ id }) => id === begun),
  );
  if (fittingMessages(turns.slice(from), terms).leftOut > 0)
    from += fittingMessages(turns.slice(from), { ...terms, context: context * FILLED_ANEW }).leftOut;
  const sent = fittingMessages(turns.slice(from), terms);
  return { ...sent, leftOut: from + sent.leftOut };
}

/** The messages with what was before them in the first one that is said: not every template has a place for the system's. */
function withTold(messages: ChatMessage[], told: string): ChatMessage[] {
  const at = told === '' ? -1 : messages.findIndex(({ role }) => role === 'user');
  return messages.map((message, index) => {
    const { content } = message;
    return index === at && typeof content === 'string'
      ? { ...message, content: `${told}\n\n${content}` }
      : message;
  });
}

/** The characters that the model reads of turns and system prompt. */
export function sentCharacters(messages: readonly ChatMessage[]): number {
  return messages.reduce(
    (sum, { content }) => sum + (typeof content === 'string' ? content.length : 0) + TURN_CHARACTERS,
    0,
  );
}

/** What templates write around a turn. */
const TURN_CHARACTERS = 20;

function lengthOf(turn: Turn | undefined): number {
  if (!turn) return 0;
  const calls = (turn.calls ?? []).map((call) => call.name + call.arguments + (call.result ?? ''));
  return contentOf(turn).length + calls.join('').length + TURN_CHARACTERS * (1 + calls.length);
}

/** What the model reads of a turn: its files, each between fences that it does not have itself, and its text. */
export function contentOf({ text, attachments = [] }: Pick<Turn, 'text' | 'attachments'>): string {
  const files = attachments.map((file) => {
    const longest = file.text.match(/`{3,}/g)?.reduce((a, b) => (a.length > b.length ? a : b)) ?? '``';
    const fence = `${longest}\``;
    return `${file.name}:\n\n${fence}\n${file.text}\n${fence}`;
  });
  return [...files, text].filter((part) => part !== '').join('\n\n');
}

function messagesOf(turns: readonly Turn[], system: string): ChatMessage[] {
  // A question without any answer is left out, because templates reject two consecutive user messages.
  const isSilent = (turn: Turn) => contentOf(turn) === '' && turn.calls === undefined;
  const isUnanswered = (i: number) => {
    const next = turns[i + 1];
    return next?.role === 'assistant' && isSilent(next);
  };
  const said = turns.filter((turn, i) => !isSilent(turn) && !(turn.role === 'user' && isUnanswered(i)));
  const messages = said.flatMap((turn): ChatMessage[] => [
    {
      role: turn.role,
      content: contentOf(turn),
      // Templates know which parts of it a model expects to see again.
      ...(turn.reasoning !== undefined && { reasoning_content: turn.reasoning }),
      ...(turn.calls && { tool_calls: turn.calls.map(callOf) }),
    },
    ...(turn.calls ?? []).map(({ id, name, result }) => ({
      role: 'tool' as const,
      tool_call_id: id,
      name,
      content: result ?? TEXTS.call.refused,
    })),
  ]);
  return system === '' ? messages : [{ role: 'system', content: system }, ...messages];
}

function callOf({ id, name, arguments: written }: ToolCall) {
  return { id, type: 'function' as const, function: { name, arguments: written } };
}
