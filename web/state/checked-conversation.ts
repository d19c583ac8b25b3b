import { type Fields, fields, list, number, oneOf, optional, text } from './checked-fields.ts';
import type {
  ConversationInfo,
  Pace,
  ToolCall,
  Turn,
  WaitingMessage,
  WholeConversation,
} from './chat-store.ts';

/**
 * A conversation of a file, with what this page knows of it and nothing else: what is kept is shown at each visit, and has to be what it
 * seems. What can do without is left out where it is of another type. Throws `SyntaxError` for what is no conversation.
 */
export function checkedConversation(value: unknown): WholeConversation {
  const { info, turns } = fields(value);
  if (!Array.isArray(turns)) throw new SyntaxError('a conversation without turns');
  return { info: checkedInfo(fields(info)), turns: turns.map((turn) => checkedTurn(fields(turn))) };
}

function checkedInfo(info: Fields): ConversationInfo {
  const changed = number(info['changed']) ?? Date.now();
  return {
    id: 'imported',
    title: text(info['title']) ?? '',
    titledBy: oneOf(info['titledBy'], ['words', 'model', 'person']) ?? 'person',
    created: number(info['created']) ?? changed,
    changed,
    leaf: text(info['leaf']),
    system: text(info['system']),
    pinned: info['pinned'] === true,
    waiting: list(info['waiting'], waitingOf),
  };
}

function checkedTurn(turn: Fields): Turn {
  const [id, role, said] = [text(turn['id']), oneOf(turn['role'], ['user', 'assistant']), text(turn['text'])];
  if (id === undefined || role === undefined || said === undefined) throw new SyntaxError('no turn');
  return {
    id,
    conversation: 'imported',
    parent: text(turn['parent']),
    role,
    text: said,
    // Nothing writes it on.
    state: oneOf(turn['state'], ['done', 'stopped', 'failed']) ?? 'stopped',
    at: number(turn['at']) ?? 0,
    attachments: list(turn['attachments'], attachmentOf),
    reasoning: text(turn['reasoning']),
    reasoningSeconds: number(turn['reasoningSeconds']),
    calls: list(turn['calls'], callOf),
    reason: oneOf(turn['reason'], ['stop', 'limit', 'context']),
    error: optional(turn['error'], errorOf),
    pace: optional(turn['pace'], paceOf),
    usedTokens: number(turn['usedTokens']),
    begin: text(turn['begin']),
    summary: optional(turn['summary'], summaryOf),
    model: text(turn['model']),
  };
}

function waitingOf({ id, text: of, attachments }: Fields): WaitingMessage | undefined {
  if (typeof id !== 'string' || typeof of !== 'string') return undefined;
  return { id, text: of, attachments: list(attachments, attachmentOf) };
}

function attachmentOf({ name, text: of }: Fields) {
  return typeof name === 'string' && typeof of === 'string' ? { name, text: of } : undefined;
}

function callOf(call: Fields): ToolCall | undefined {
  const [id, name, written] = [text(call['id']), text(call['name']), text(call['arguments'])];
  if (id === undefined || name === undefined || written === undefined) return undefined;
  const state = oneOf(call['state'], ['done', 'failed', 'refused']) ?? 'refused';
  return { id, name, arguments: written, state, result: text(call['result']) };
}

function errorOf({ message, fix }: Fields) {
  return typeof message === 'string' ? { message, fix: text(fix) } : undefined;
}

function paceOf(pace: Fields): Pace | undefined {
  const tokens = number(pace['tokens']);
  if (tokens === undefined) return undefined;
  return {
    tokens,
    firstSeconds: number(pace['firstSeconds']),
    tokensPerSecond: number(pace['tokensPerSecond']),
  };
}

function summaryOf({ text: of, first }: Fields) {
  return typeof of === 'string' && typeof first === 'string' ? { text: of, first } : undefined;
}
