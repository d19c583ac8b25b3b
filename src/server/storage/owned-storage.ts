import { fail } from '../../base/errors.ts';
import { inTurns, type Steps } from '../../base/turns.ts';
import type { ItemName, Storage, StoredItem } from './storage.ts';

/** What each kind of item is called in errors. */
const KINDS = {
  batch: 'a batch',
  batch_results: 'the results of a batch',
  chat: 'a chat completion',
  conversation: 'a conversation',
  file: 'a file',
  message_batch: 'a message batch',
  response: 'a response',
} as const;

/** A kind of stored item. */
export type ItemKind = keyof typeof KINDS;

/** The part of the storage that belongs to one API key: it has no way to anybody else's items. */
export class OwnedStorage {
  readonly #storage: Storage;
  readonly #owner: string;

  constructor(storage: Storage, owner: string) {
    this.#storage = storage;
    this.#owner = owner;
  }

  /** The record of an item. Rejects with `STORED_NOT_FOUND`. */
  async get<T>(kind: ItemKind, id: string): Promise<T> {
    return (await this.find<T>(kind, id)) ?? notStored(kind, id);
  }

  /** The record of an item; undefined if it does not exist. */
  async find<T>(kind: ItemKind, id: string): Promise<T | undefined> {
    const name = this.#name(kind, id);
    const item = await this.#storage.find(name);
    if (!item || item.bytes.record === 0) return undefined;
    const pieces = await this.#storage.read(name, 'record');
    if (!pieces) return undefined;
    const decoder = new TextDecoder();
    let text = '';
    for await (const piece of pieces) text += decoder.decode(piece, { stream: true });
    // A record that another request removed meanwhile.
    return text === '' ? undefined : (JSON.parse(text) as T);
  }

  /** Creates or replaces the record of an item. Rejects with `STORE_FULL`. */
  async put(kind: ItemKind, id: string, record: object): Promise<void> {
    const name = this.#name(kind, id);
    await this.#storage.inTurn(name, () => this.#storage.write(name, 'record', encoded(record)));
  }

  /** Replaces a record by what `change` makes of it, and resolves to that. Rejects with `STORED_NOT_FOUND`. */
  async update<T extends object>(
    kind: ItemKind,
    id: string,
    change: (record: T) => T | Promise<T>,
  ): Promise<T> {
    const name = this.#name(kind, id);
    return this.#storage.inTurn(name, async () => {
      const changed = await change(await this.get<T>(kind, id));
      await this.#storage.write(name, 'record', encoded(changed));
      return changed;
    });
  }

  /** Removes an item. Rejects with `STORED_NOT_FOUND`. */
  async remove(kind: ItemKind, id: string): Promise<void> {
    if (!(await this.#storage.remove(this.#name(kind, id)))) notStored(kind, id);
  }

  /** The items of a kind, in order of creation. */
  async list(kind: ItemKind): Promise<readonly StoredItem[]> {
    return this.#storage.list(this.#owner, kind);
  }

  /** The content of an item. Rejects with `STORED_NOT_FOUND`. */
  async content(kind: ItemKind, id: string): Promise<AsyncIterable<Uint8Array>> {
    return (await this.#storage.read(this.#name(kind, id), 'content')) ?? notStored(kind, id);
  }

  /** The bytes of an item's content; 0 if there is none. */
  async contentBytes(kind: ItemKind, id: string): Promise<number> {
    return (await this.#storage.find(this.#name(kind, id)))?.bytes.content ?? 0;
  }

  /** The bytes of an item's record; 0 if there is none. */
  async recordBytes(kind: ItemKind, id: string): Promise<number> {
    return (await this.#storage.find(this.#name(kind, id)))?.bytes.record ?? 0;
  }

  /** Replaces the content of an item. It exists for others once it has a record, too. Rejects with `STORE_FULL`. */
  async putContent(kind: ItemKind, id: string, content: AsyncIterable<Uint8Array>): Promise<void> {
    const name = this.#name(kind, id);
    await this.#storage.inTurn(name, () => this.#storage.write(name, 'content', content));
  }

  /** Throws `STORE_FULL` for more bytes than the store could ever have, before they arrive. */
  requireRoomFor(bytes: number): void {
    const { maxBytes } = this.#storage.bounds;
    if (bytes > maxBytes) fail('STORE_FULL', { limit: maxBytes });
  }

  /** Adds to the content of an item. Rejects with `STORE_FULL`. */
  async append(kind: ItemKind, id: string, bytes: Uint8Array): Promise<void> {
    const name = this.#name(kind, id);
    await this.#storage.inTurn(name, () => this.#storage.append(name, bytes));
  }

  /** Keeps an item from being evicted until the result is disposed. */
  pin(kind: ItemKind, id: string): Disposable {
    return this.#storage.pin(this.#name(kind, id));
  }

  #name(kind: ItemKind, id: string): ItemName {
    return { owner: this.#owner, kind, id };
  }
}

function notStored(kind: ItemKind, id: string): never {
  fail('STORED_NOT_FOUND', { what: KINDS[kind], id: id.slice(0, 80) });
}

async function* encoded(record: object): AsyncGenerator<Uint8Array, void> {
  yield await inTurns(bytesOf(record), 'storing');
}

/** A record of many megabytes takes a while to write, and once more to encode. */
function* bytesOf(record: object): Steps<Uint8Array> {
  const text = JSON.stringify(record);
  yield;
  return new TextEncoder().encode(text);
}
