import { signal } from '@preact/signals';
import { explain } from './explain.ts';

/** A model of the server that the page comes from. */
export interface ServerModel {
  readonly id: string;
  /** Maximum tokens of a conversation; unknown until the model is loaded. */
  readonly context: number | undefined;
  /** What its file calls it, and what it is built like; known while it is loaded. */
  readonly name: string | undefined;
  readonly architecture: string | undefined;
  /** Whether it is loaded; undefined for servers that do not tell, and for what is loaded with another model. */
  readonly state: 'unloaded' | 'loading' | 'ready' | 'failed' | undefined;
}

/** What a server tells of a loaded model. */
export interface ModelProps {
  readonly total_slots?: number;
  readonly chat_template?: string;
}

/** A model in the server's list. */
interface ListedModel extends Partial<Omit<ServerModel, 'context'>> {
  readonly id: string;
  readonly context_length?: number;
}

const KEY = 'rocmforge key';

/** A request of a stream with a name. */
export interface NamedRequest {
  readonly stream: string;
  readonly signal: AbortSignal;
}

/** Whether the page's server answers chats. */
export type ServerAccess = 'unknown' | 'absent' | 'locked' | 'open';

/** The server that the page comes from, if it has an API. Its key goes nowhere else. */
export class ChatServer {
  readonly access = signal<ServerAccess>('unknown');
  readonly models = signal<readonly ServerModel[]>([]);
  /** Whether a key was given that the server does not know. */
  readonly isKeyWrong = signal(false);
  #key = keptKey();

  /** Looks for the models. Never rejects: a page on a static host has none. */
  async refresh(): Promise<void> {
    try {
      const response = await this.#fetch('v1/models');
      if (response.status === 401) {
        this.isKeyWrong.value = this.#key !== '';
        this.access.value = 'locked';
        return;
      }
      const { data } = (await response.json()) as { data: ListedModel[] };
      const models = data.map(({ id, context_length: context, name, architecture, state }) => ({
        id,
        context,
        name,
        architecture,
        state,
      }));
      // Models appear once there is access to them.
      this.access.value = 'open';
      this.models.value = models;
    } catch {
      // A server that was there may only be out of reach for now.
      if (this.access.value !== 'open') this.access.value = 'absent';
    }
  }

  /** Takes a key, which is kept for later visits if the server knows it. */
  async unlock(key: string): Promise<void> {
    this.#key = key;
    await this.refresh();
    if (this.access.value !== 'open') return;
    try {
      localStorage.setItem(KEY, key);
    } catch {
      // It is asked for again.
    }
  }

  /** Loads a model, or unloads it, before anybody asks it something. Undefined if that worked, else what the server says. */
  async setLoaded(model: string, isLoaded: boolean): Promise<string | undefined> {
    const headers = { 'content-type': 'application/json' };
    try {
      const path = isLoaded ? 'models/load' : 'models/unload';
      const response = await this.#fetch(path, { method: 'POST', body: JSON.stringify({ model }), headers });
      if (response.ok) return undefined;
      const { error } = (await response.json()) as { error?: { message?: string } };
      return error?.message ?? response.statusText;
    } catch (error) {
      return explain(error).message;
    } finally {
      await this.refresh();
    }
  }

  /** What the server tells of a loaded model; rejects if it tells nothing. */
  async props(model: string): Promise<ModelProps> {
    const response = await this.#fetch(`props?model=${encodeURIComponent(model)}`);
    if (!response.ok) throw new Error(`${response.status} ${response.statusText}`);
    return (await response.json()) as ModelProps;
  }

  /** Asks for a stream, which goes on under a name when this page leaves. */
  async post(path: string, body: object, { stream, signal }: NamedRequest): Promise<Response> {
    const headers = { 'content-type': 'application/json', 'x-conversation-id': stream };
    const response = await this.#fetch(path, { method: 'POST', body: JSON.stringify(body), headers, signal });
    if (response.status === 401) this.access.value = 'locked';
    return response;
  }

  /** A stream from a byte on. */
  goOn({ stream, signal }: NamedRequest, from: number): Promise<Response> {
    return this.#fetch(`v1/stream?conv_id=${stream}&from=${from}`, { signal });
  }

  /** Ends a stream. Never rejects: a server that is gone has ended it. */
  async end(stream: string): Promise<void> {
    const end = { method: 'DELETE', keepalive: true };
    await this.#fetch(`v1/stream?conv_id=${stream}`, end).catch(() => {});
  }

  /** Redirections are errors: they would take the key, or the conversation, elsewhere. */
  #fetch(path: string, init: RequestInit = {}): Promise<Response> {
    const headers = new Headers(init.headers);
    if (this.#key !== '') headers.set('authorization', `Bearer ${this.#key}`);
    const address = new URL(path, document.baseURI);
    return fetch(address, { ...init, headers, mode: 'same-origin', redirect: 'error', cache: 'no-store' });
  }
}

function keptKey(): string {
  try {
    return localStorage.getItem(KEY) ?? '';
  } catch {
    return '';
  }
}
