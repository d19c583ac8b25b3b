import type { Turn } from './chat-store.ts';
import {
  contentOf,
  fittingMessages,
  ROOM,
  type SentMessages,
  steppedMessages,
  TOKENS_PER_CHARACTER,
  type WindowTerms,
} from './context-window.ts';
import { type ChatEngine, NO_REASONING } from './engine.ts';
import { TEXTS } from '../texts.ts';

/** What stands for the turns before one of a branch. */
export interface Summary {
  readonly text: string;
  /** The id of the first turn that it does not tell of. */
  readonly first: string;
}

/** What a summary is made with. */
interface SummaryTerms {
  readonly engine: ChatEngine;
  /** Tokens for a character, as counted before. */
  readonly tokensPerCharacter: number | undefined;
  readonly signal: AbortSignal;
}

/** Fewer characters of a conversation in one request are not worth a request. */
const LEAST_CHARACTERS = 256;

/** The part of a context that is left to what is not summarized, so that it does not fill again at once. */
const UNSUMMARIZED_SHARE = 0.5;

/** What of a conversation is sent, and what the model is told of the rest. */
export interface SentConversation extends SentMessages {
  readonly summary?: Summary | undefined;
}

/**
 * What of a branch is sent if the model is told of its beginning in short: where the branch does not fit, all before its second half
 * is summarized. Turns are left out where the model says nothing. Throws what the engine throws.
 */
export async function summarizedMessages(
  turns: readonly Turn[],
  terms: WindowTerms,
  summary: (turns: readonly Turn[], before: string | undefined) => Promise<string | undefined>,
): Promise<SentConversation> {
  const known = summarized(turns);
  const before = known.summary?.text;
  const told = { ...terms, summary: before };
  const enough = steppedMessages(known.rest, told);
  const outside = turns.length - known.rest.length;
  const { context } = terms;
  if (enough.leftOut === 0 || context === undefined)
    return { ...enough, leftOut: outside + enough.leftOut, summary: known.summary };
  // More than has to be, so that the next message does not want it again.
  const { leftOut } = fittingMessages(known.rest, { ...told, context: context * UNSUMMARIZED_SHARE });
  const text = await summary(known.rest.slice(0, leftOut), before);
  const rest = known.rest.slice(leftOut);
  const [first] = rest;
  if (text === undefined || !first) return { ...enough, leftOut: outside + enough.leftOut };
  const sent = fittingMessages(rest, { ...terms, summary: text });
  return { ...sent, leftOut: outside + leftOut + sent.leftOut, summary: { text, first: first.id } };
}

/** The last summary on a branch, and the turns that it does not tell of. */
function summarized(turns: readonly Turn[]): {
  summary: Summary | undefined;
  rest: readonly Turn[];
} {
  const summary = turns.findLast((turn) => turn.summary !== undefined)?.summary;
  const begin = summary ? turns.findIndex(({ id }) => id === summary.first) : -1;
  // An edited question may stand in a branch's place.
  return begin < 0 ? { summary: undefined, rest: turns } : { summary, rest: turns.slice(begin) };
}

/**
 * What turns say in short, by the model itself, with what an earlier summary told. What is longer than the context is read in parts.
 * Undefined where that says nothing, or the context has no room for it. Throws what the engine throws.
 */
export async function summarize(
  turns: readonly Turn[],
  before: string | undefined,
  { engine, tokensPerCharacter = TOKENS_PER_CHARACTER, signal }: SummaryTerms,
): Promise<string | undefined> {
  const { context = Number.POSITIVE_INFINITY } = engine;
  const { summary: texts, conversation: names } = TEXTS;
  const room = Math.min(ROOM.most, context * ROOM.share);
  const all = turns.map((turn) => `${names.roles[turn.role]}: ${contentOf(turn).trim()}`).join('\n\n');
  let text = before;
  for (let at = 0; at < all.length;) {
    const asked = texts.ask(text);
    const length = Math.floor((context - room) / tokensPerCharacter) - asked.length;
    if (length < LEAST_CHARACTERS) return undefined;
    const content = `${asked}\n\n${all.slice(at, at + length)}`;
    text = await said(engine, content, { maxTokens: Math.floor(room / 2), signal });
    if (text === '') return undefined;
    at += length;
  }
  return text;
}

/** What a model answers to a single message, without reasoning. */
export async function said(
  engine: ChatEngine,
  content: string,
  { maxTokens, signal }: { maxTokens: number; signal: AbortSignal },
): Promise<string> {
  const request = {
    messages: [{ role: 'user', content }],
    continues: false,
    sampling: { maxTokens },
    reasoning: NO_REASONING,
    tools: [],
    signal,
  } as const;
  let text = '';
  for await (const event of engine.answer(request)) if (event.kind === 'piece') text += event.text;
  return text.trim();
}
