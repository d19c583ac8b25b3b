import type { ConversationInfo, Turn, WholeConversation } from './chat-store.ts';

/** A message in the files of Open WebUI. */
interface OpenWebuiMessage {
  readonly parentId?: string | null;
  readonly role?: unknown;
  readonly content?: unknown;
  /** Seconds since 1970. */
  readonly timestamp?: number;
  readonly model?: string;
  readonly files?: readonly {
    readonly name?: unknown;
    readonly file?: { readonly filename?: unknown; readonly data?: { readonly content?: unknown } };
  }[];
}

/** A conversation in the files of Open WebUI. */
export interface OpenWebuiChat {
  readonly title?: string;
  /** Seconds since 1970. */
  readonly created_at?: number;
  readonly updated_at?: number;
  readonly chat: {
    readonly title?: string;
    readonly system?: unknown;
    readonly params?: { readonly system?: unknown };
    readonly history: {
      readonly currentId?: string | null;
      readonly messages: Readonly<Record<string, OpenWebuiMessage>>;
    };
  };
}

/** Whether a value of a file is a conversation of Open WebUI. */
export function isOpenWebui(value: unknown): value is OpenWebuiChat {
  const { chat } = (value ?? {}) as { readonly chat?: Partial<OpenWebuiChat['chat']> };
  const messages: unknown = chat?.history?.messages;
  return typeof messages === 'object' && messages !== null;
}

/** The conversation with its branches, reasoning and texts that were attached. */
export function fromOpenWebui({ title, created_at, updated_at, chat }: OpenWebuiChat): WholeConversation {
  const { messages, currentId } = chat.history;
  const system = chat.system ?? chat.params?.system;
  const changed = updated_at === undefined ? Date.now() : updated_at * MILLISECONDS;
  const said = Object.entries(messages).filter(([, { role }]) => role === 'user' || role === 'assistant');
  const info: ConversationInfo = {
    id: 'imported',
    title: chat.title ?? title ?? '',
    titledBy: 'person',
    created: created_at === undefined ? changed : created_at * MILLISECONDS,
    changed,
    leaf: currentId && currentId in messages ? currentId : said.at(-1)?.[0],
    ...(typeof system === 'string' && system !== '' && { system }),
  };
  const turns = said.map(([id, message]): Turn => {
    const { parentId, role, content, timestamp, model } = message;
    return {
      id,
      conversation: info.id,
      parent: parentId ?? undefined,
      role: role as Turn['role'],
      ...thoughtAndSaid(typeof content === 'string' ? content : ''),
      attachments: filesOf(message),
      state: 'done',
      at: timestamp === undefined ? changed : timestamp * MILLISECONDS,
      model,
    };
  });
  return { info, turns };
}

const MILLISECONDS = 1000;

/** Reasoning, which its files have as HTML at the beginning of an answer, as a quotation. */
const REASONING =
  /^\s*<details type="reasoning"(?<attributes>[^>]*)>\s*(?:<summary>[^<]*<\/summary>)?(?<quoted>[^]*?)<\/details>\s*/;

function thoughtAndSaid(content: string): Pick<Turn, 'text' | 'reasoning' | 'reasoningSeconds'> {
  const match = REASONING.exec(content);
  const { attributes = '', quoted = '' } = match?.groups ?? {};
  if (!match) return { text: content };
  const [, seconds] = /duration="(\d+)"/.exec(attributes) ?? [];
  return {
    text: content.slice(match[0].length),
    reasoning: unescaped(quoted.replaceAll(/^(?:>|&gt;) ?/gm, '')).trim(),
    reasoningSeconds: seconds === undefined ? undefined : Number(seconds),
  };
}

const ESCAPED: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', '#x27': "'", amp: '&' };

function unescaped(text: string): string {
  return text.replaceAll(/&(lt|gt|quot|#x27|amp);/g, (whole, name: string) => ESCAPED[name] ?? whole);
}

/** The files of a message that are text; pictures are not taken over. */
function filesOf({ files = [] }: OpenWebuiMessage): Turn['attachments'] {
  const texts = files.flatMap(({ name, file }) => {
    const text = file?.data?.content;
    const called = name ?? file?.filename;
    return typeof called === 'string' && typeof text === 'string' ? [{ name: called, text }] : [];
  });
  return texts.length > 0 ? texts : undefined;
}
