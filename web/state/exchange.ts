import { contentOf } from './context-window.ts';
import { branchOf, type ConversationInfo, freshId, type Turn, type WholeConversation } from './chat-store.ts';
import { checkedConversation } from './checked-conversation.ts';
import { fromOpenWebui, isOpenWebui } from './open-webui-chats.ts';

/** What marks a file of ours. */
const FORMAT = 'rocmforge conversations';

/** Conversations as JSON, with all that is kept of them. */
export function toJson(conversations: readonly WholeConversation[]): string {
  return JSON.stringify({ format: FORMAT, version: 1, conversations }, undefined, 1);
}

/** The branch that is shown as Markdown, for people. */
export function toMarkdown(
  title: string,
  whole: WholeConversation,
  names: Record<Turn['role'], string>,
): string {
  const said = branchOf(whole.turns, whole.info.leaf).map(
    (turn) => `## ${names[turn.role]}\n\n${contentOf(turn).trim()}\n`,
  );
  return [`# ${title}\n`, ...said].join('\n');
}

/** A message in the files of llama.cpp's page. */
interface LlamaMessage {
  readonly id: string;
  readonly type?: string;
  readonly timestamp?: number;
  readonly role: string;
  readonly content: unknown;
  readonly parent?: string | null;
  readonly thinking?: string;
  readonly reasoningContent?: string;
  readonly model?: string;
  readonly extra?: readonly { readonly name?: unknown; readonly content?: unknown }[];
}

/** A conversation in the files of llama.cpp's page. */
interface LlamaConversation {
  readonly conv: {
    readonly name?: string;
    readonly lastModified?: number;
    readonly currNode?: string | null;
  };
  readonly messages: readonly LlamaMessage[];
}

/**
 * The conversations of a file: our JSON, JSON and JSON lines of llama.cpp's page, or Open WebUI's JSON. They get new ids, so that
 * what is there already stays. Throws `SyntaxError` for any other file.
 */
export function readConversations(text: string): WholeConversation[] {
  const parsed = parse(text);
  const taken = (conversation: unknown) => copyOf(checkedConversation(conversation));
  if (isOurs(parsed)) return parsed.conversations.map(taken);
  const all = Array.isArray(parsed) ? (parsed as unknown[]) : [parsed];
  if (all.length > 0 && all.every(isLlama)) return all.map((chat) => taken(fromLlama(chat)));
  if (all.length > 0 && all.every(isOpenWebui)) return all.map((chat) => taken(fromOpenWebui(chat)));
  throw new SyntaxError('no conversations');
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return linesOf(text);
  }
}

/** JSON lines: a conversation, then its messages. */
function linesOf(text: string): LlamaConversation[] {
  const all: { conv: object; messages: LlamaMessage[] }[] = [];
  for (const line of text.split('\n')) {
    if (line.trim() === '') continue;
    const record = JSON.parse(line) as { type?: string; message?: LlamaMessage };
    if (record.type === 'session') all.push({ conv: record, messages: [] });
    else if (record.type === 'message' && record.message) all.at(-1)?.messages.push(record.message);
  }
  return all;
}

function isOurs(parsed: unknown): parsed is { conversations: unknown[] } {
  return isObject(parsed) && parsed['format'] === FORMAT && Array.isArray(parsed['conversations']);
}

function isLlama(parsed: unknown): parsed is LlamaConversation {
  return isObject(parsed) && isObject(parsed['conv']) && Array.isArray(parsed['messages']);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

/** The same conversation under new ids. */
export function copyOf({ info, turns }: WholeConversation): WholeConversation {
  const ids = new Map(turns.map(({ id }) => [id, freshId()]));
  const id = freshId();
  const rename = (of: string | undefined) => (of === undefined ? undefined : ids.get(of));
  return {
    info: { ...info, id, leaf: rename(info.leaf) },
    turns: turns.map((turn) => ({
      ...turn,
      id: rename(turn.id) ?? freshId(),
      parent: rename(turn.parent),
      conversation: id,
      begin: rename(turn.begin),
      summary: turn.summary && { ...turn.summary, first: rename(turn.summary.first) ?? '' },
    })),
  };
}

function fromLlama({ conv, messages }: LlamaConversation): WholeConversation {
  const byId = new Map(messages.map((message) => [message.id, message]));
  const isSaid = ({ role, type }: LlamaMessage) =>
    type !== 'root' && (role === 'user' || role === 'assistant');
  // The root, the system prompt and the results of tools are no turns: what follows them follows what is before them.
  const parentOf = ({ parent }: LlamaMessage): string | undefined => {
    const before = parent ? byId.get(parent) : undefined;
    return before && (isSaid(before) ? before.id : parentOf(before));
  };
  const system = messages.find(({ role }) => role === 'system')?.content;
  const changed = conv.lastModified ?? Date.now();
  const said = messages.filter(isSaid);
  const info: ConversationInfo = {
    id: 'imported',
    title: conv.name ?? '',
    titledBy: 'person',
    created: said[0]?.timestamp ?? changed,
    changed,
    leaf: conv.currNode && byId.has(conv.currNode) ? conv.currNode : said.at(-1)?.id,
    ...(typeof system === 'string' && system !== '' && { system }),
  };
  const turns = said.map((message): Turn => {
    const { id, content, role, timestamp = changed, model } = message;
    return {
      id,
      conversation: info.id,
      parent: parentOf(message),
      role: role as Turn['role'],
      text: textOf(content),
      attachments: filesOf(message),
      reasoning: message.reasoningContent || message.thinking || undefined,
      state: 'done',
      at: timestamp,
      model,
    };
  });
  return { info, turns };
}

/** The files of a message that are text; pictures and sound are not taken over. */
function filesOf({ extra = [] }: LlamaMessage): Turn['attachments'] {
  const files = extra.flatMap(({ name, content: text }) =>
    typeof name === 'string' && typeof text === 'string' ? [{ name, text }] : [],
  );
  return files.length > 0 ? files : undefined;
}

/** The text of a content, which may be in parts. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content
    .map((part) => (isObject(part) && typeof part['text'] === 'string' ? part['text'] : ''))
    .join('');
}
