import type { Attachment } from '../attachments/read-attachment.ts';
import type { Summary } from './summary.ts';

/** One turn of a conversation, as it is kept. Answers grow while they are generated. */
export interface Turn {
  readonly id: string;
  /** The conversation it belongs to. */
  readonly conversation: string;
  /** The turn before it; several turns with the same one are branches. */
  readonly parent: string | undefined;
  readonly role: 'user' | 'assistant';
  readonly text: string;
  /** Files whose texts are said with a question. */
  readonly attachments?: readonly Attachment[] | undefined;
  /** The model's reasoning before its answer. */
  readonly reasoning?: string | undefined;
  /** From the first piece of reasoning to the first piece of the answer. */
  readonly reasoningSeconds?: number | undefined;
  readonly state: 'writing' | 'done' | 'stopped' | 'failed';
  /** What the answer calls; with the results, the next turn goes on. */
  readonly calls?: readonly ToolCall[] | undefined;
  /** Why a finished answer ended: by itself, at the limit of tokens, or because the context was full. */
  readonly reason?: 'stop' | 'limit' | 'context' | undefined;
  /** What went wrong, in words. */
  readonly error?: { readonly message: string; readonly fix: string | undefined } | undefined;
  readonly pace?: Pace | undefined;
  /** Tokens of the context that the conversation with this answer takes. */
  readonly usedTokens?: number | undefined;
  /** The id of the first turn that the model read for this answer, if it did not read all. */
  readonly begin?: string | undefined;
  /** What the model was told of the turns that it did not read, if they were summarized. */
  readonly summary?: Summary | undefined;
  /** As long as the server writes it: where it can be read again. */
  readonly stream?: AnswerStream | undefined;
  /** The title of the model that answered. */
  readonly model?: string | undefined;
  /** When it began, in milliseconds since 1970. */
  readonly at: number;
}

/** An answer that goes on at the server when the page leaves. */
export interface AnswerStream {
  readonly name: string;
  /** Characters that the answer had before, if it is continued. */
  readonly textLength: number;
  readonly reasoningLength: number;
}

/** A function that an answer calls. */
export interface ToolCall {
  readonly id: string;
  readonly name: string;
  /** The arguments as JSON, as far as they are written. */
  readonly arguments: string;
  /** `written` while it is written; `asked` until the person allows it. */
  readonly state: 'written' | 'asked' | 'running' | 'done' | 'failed' | 'refused';
  /** What came of it, in words for the model. */
  readonly result?: string | undefined;
}

/** The speed of an answer. */
export interface Pace {
  readonly tokens: number;
  /** From the request to the first token. */
  readonly firstSeconds: number | undefined;
  /** Undefined until there are two tokens to measure between. */
  readonly tokensPerSecond: number | undefined;
}

/** A message that waits for the end of an answer. */
export interface WaitingMessage extends Pick<Turn, 'text' | 'attachments'> {
  readonly id: string;
}

/** A conversation without its turns. */
export interface ConversationInfo {
  readonly id: string;
  readonly title: string;
  /** Who gave the title: its first words did, the model, or the person, whose title stays. */
  readonly titledBy: 'words' | 'model' | 'person';
  readonly created: number;
  readonly changed: number;
  /** The last turn of the branch that is shown. */
  readonly leaf: string | undefined;
  /** The system prompt of this conversation; undefined: that of the settings. */
  readonly system?: string | undefined;
  /** Whether it stands before those that are not, whenever it was changed. */
  readonly pinned?: boolean | undefined;
  /** Messages that were sent while an answer was written, the first one first; undefined if none waits. */
  readonly waiting?: readonly WaitingMessage[] | undefined;
}

/** The parts of a conversation that the person changes. */
export type ConversationChange = Partial<Pick<ConversationInfo, 'title' | 'titledBy' | 'system' | 'pinned'>>;

/** The order of conversations in lists: pinned ones first, and the last changed first. */
export function byRecency(a: ConversationInfo, b: ConversationInfo): number {
  return Number(b.pinned ?? false) - Number(a.pinned ?? false) || b.changed - a.changed;
}

/** A conversation with all its branches. */
export interface WholeConversation {
  readonly info: ConversationInfo;
  readonly turns: readonly Turn[];
}

/** The turns from the first to a leaf. */
export function branchOf(turns: Iterable<Turn>, leaf: string | undefined): readonly Turn[] {
  const all = new Map(Array.from(turns, (turn) => [turn.id, turn]));
  const branch: Turn[] = [];
  for (let turn = all.get(leaf ?? ''); turn; turn = all.get(turn.parent ?? '')) {
    branch.push(turn);
    // A file that was imported may have a circle.
    all.delete(turn.id);
  }
  return branch.reverse();
}

const NAME = 'rocmforge chats';
const VERSION = 1;

/** The conversations in this browser's IndexedDB, and word of their changes from and to other tabs. */
export class ChatStore {
  readonly #base: IDBDatabase;
  readonly #channel = new BroadcastChannel(NAME);

  private constructor(base: IDBDatabase) {
    this.#base = base;
    // A newer page in another tab changes the form of what is kept.
    base.addEventListener('versionchange', () => base.close());
  }

  /** Rejects if the browser keeps nothing, as in some private windows. */
  static async open(): Promise<ChatStore> {
    const request = indexedDB.open(NAME, VERSION);
    request.addEventListener('upgradeneeded', () => {
      const { result: base } = request;
      base.createObjectStore('conversations', { keyPath: 'id' });
      base.createObjectStore('turns', { keyPath: 'id' }).createIndex('conversation', 'conversation');
    });
    return new ChatStore(await answerOf(request));
  }

  /** Calls back with the id of a conversation that another tab has changed. */
  onChange(listener: (id: string) => void): void {
    this.#channel.addEventListener('message', ({ data }: MessageEvent<string>) => listener(data));
  }

  /** All conversations, in the order of lists. */
  async list(): Promise<ConversationInfo[]> {
    const all = await answerOf<ConversationInfo[]>(this.#read('conversations').getAll());
    return all.sort(byRecency);
  }

  async turnsOf(id: string): Promise<Turn[]> {
    return answerOf<Turn[]>(this.#read('turns').index('conversation').getAll(id));
  }

  /** The ids of conversations of which a turn has all these words. */
  async search(words: readonly string[]): Promise<Set<string>> {
    const found = new Set<string>();
    const request = this.#read('turns').openCursor();
    await new Promise<void>((resolve, reject) => {
      request.addEventListener('error', () => reject(asError(request.error)));
      request.addEventListener('success', () => {
        const cursor = request.result;
        if (!cursor) return resolve();
        const { conversation, text } = cursor.value as Turn;
        if (!found.has(conversation) && hasAll(text, words)) found.add(conversation);
        cursor.continue();
      });
    });
    return found;
  }

  /** Keeps a conversation and these of its turns, and removes those whose ids are in `gone`. */
  async save(info: ConversationInfo, turns: readonly Turn[], gone: readonly string[] = []): Promise<void> {
    const writing = this.#base.transaction(['conversations', 'turns'], 'readwrite');
    writing.objectStore('conversations').put(info);
    for (const turn of turns) writing.objectStore('turns').put(turn);
    for (const id of gone) writing.objectStore('turns').delete(id);
    await endOf(writing);
    this.#channel.postMessage(info.id);
  }

  async remove(id: string): Promise<void> {
    const ids = (await this.turnsOf(id)).map((turn) => turn.id);
    const writing = this.#base.transaction(['conversations', 'turns'], 'readwrite');
    writing.objectStore('conversations').delete(id);
    for (const turn of ids) writing.objectStore('turns').delete(turn);
    await endOf(writing);
    this.#channel.postMessage(id);
  }

  #read(name: 'conversations' | 'turns'): IDBObjectStore {
    return this.#base.transaction(name).objectStore(name);
  }
}

/** Whether a text has all words, in lower case. */
export function hasAll(text: string, words: readonly string[]): boolean {
  const lower = text.toLowerCase();
  return words.every((word) => lower.includes(word));
}

/** An id of its own. Pages over plain http have no `crypto.randomUUID`. */
export function freshId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(12)), (byte) =>
    byte.toString(16).padStart(2, '0'),
  ).join('');
}

function answerOf<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.addEventListener('success', () => resolve(request.result));
    request.addEventListener('error', () => reject(asError(request.error)));
  });
}

function endOf(writing: IDBTransaction): Promise<void> {
  return new Promise((resolve, reject) => {
    writing.addEventListener('complete', () => resolve());
    writing.addEventListener('abort', () => reject(asError(writing.error)));
  });
}

function asError(error: DOMException | null): Error {
  return error ?? new Error('IndexedDB failed');
}
