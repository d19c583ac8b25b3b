import { fail } from '../../base/errors.ts';
import { type Logger, silentLogger } from '../../base/log.ts';
import type { BlobStore } from './blob-store.ts';

/** Limits of everything that is stored. */
export interface StorageBounds {
  readonly maxItems: number;
  readonly maxBytes: number;
}

/** The two blobs of an item: a record in JSON, and bytes that come and go in pieces. */
export type ItemPart = 'record' | 'content';

/** Which item, and whose. */
export interface ItemName {
  /** The hash of the key that it belongs to. */
  readonly owner: string;
  readonly kind: string;
  readonly id: string;
}

/** What is known of a stored item without reading it. */
export interface StoredItem extends ItemName {
  /** Its place in the order of creation: sorts as text. */
  readonly created: string;
  readonly bytes: { readonly [Part in ItemPart]: number };
}

/** An owner's items by kind and id, those that were written longest ago first, and their bytes. */
interface Owned {
  readonly items: Map<string, Item>;
  bytes: number;
}

interface Item extends StoredItem {
  readonly bytes: { [Part in ItemPart]: number };
  /** Pinned items are never evicted. */
  pins: number;
}

const SUFFIXES: { readonly [Part in ItemPart]: string } = { record: 'json', content: 'data' };
const NAME = /^([\w-]+)\/([\w-]+)\/([\da-z]{11})\.([\w-]+)\.(json|data)$/;

/**
 * Items that outlast requests, within bounds: when they are reached, the owner with the most loses the items that were
 * written longest ago. An owner's items are reached by its name alone, and never through another's.
 */
export class Storage {
  readonly #blobs: BlobStore;
  readonly bounds: StorageBounds;
  readonly #log: Logger;
  readonly #owners = new Map<string, Owned>();
  /** The last of the waiting uses of each item. */
  readonly #uses = new Map<string, Promise<unknown>>();
  #opened: Promise<void> | undefined;
  #items = 0;
  #bytes = 0;
  #lastCreated = 0;

  constructor(blobs: BlobStore, bounds: StorageBounds, log: Logger = silentLogger) {
    this.#blobs = blobs;
    this.bounds = bounds;
    this.#log = log;
  }

  /** The item, if it exists. */
  async find(name: ItemName): Promise<StoredItem | undefined> {
    await this.#open();
    return this.#item(name);
  }

  /** An owner's items of a kind, in order of creation. */
  async list(owner: string, kind: string): Promise<readonly StoredItem[]> {
    await this.#open();
    return [...(this.#owners.get(owner)?.items.values() ?? [])]
      .filter((item) => item.kind === kind && item.bytes.record > 0)
      .toSorted(byCreation);
  }

  /** All owners' items of a kind, in order of creation. */
  async listAll(kind: string): Promise<readonly StoredItem[]> {
    await this.#open();
    const lists = await Promise.all([...this.#owners.keys()].map((owner) => this.list(owner, kind)));
    return lists.flat().toSorted(byCreation);
  }

  /** The bytes of an item's part; undefined if it does not exist. */
  async read(name: ItemName, part: ItemPart): Promise<AsyncIterable<Uint8Array> | undefined> {
    await this.#open();
    const item = this.#item(name);
    return item && this.#blobs.read(blobName(item, part));
  }

  /**
   * Creates or replaces a part of an item. Rejects with `STORE_FULL` if it has no room even when all else is evicted,
   * and with the errors of the content; what was there then stays.
   */
  async write(name: ItemName, part: ItemPart, content: AsyncIterable<Uint8Array>): Promise<void> {
    await this.#open();
    const item = this.#item(name) ?? this.#create(name);
    const before = item.bytes[part];
    item.pins++;
    let written = 0;
    const counted = async function* (this: Storage) {
      for await (const bytes of content) {
        this.#grow(item, part, bytes.length);
        written += bytes.length;
        yield bytes;
      }
    };
    try {
      await this.#blobs.write(blobName(item, part), counted.call(this));
      this.#count(item, part, -before);
      this.#touch(item);
      // It was removed meanwhile.
      if (this.#item(item) !== item) await this.#blobs.remove(blobName(item, part));
    } catch (error) {
      this.#count(item, part, -written);
      if (sizeOf(item) === 0) this.#forget(item);
      throw error;
    } finally {
      item.pins--;
    }
  }

  /** Adds bytes to the end of an item's content. Rejects with `STORE_FULL`. */
  async append(name: ItemName, bytes: Uint8Array): Promise<void> {
    await this.#open();
    const item = this.#item(name) ?? this.#create(name);
    item.pins++;
    try {
      this.#grow(item, 'content', bytes.length);
      await this.#blobs.append(blobName(item, 'content'), bytes);
      this.#touch(item);
    } finally {
      item.pins--;
    }
  }

  /** Removes an item; false if there is none. */
  async remove(name: ItemName): Promise<boolean> {
    await this.#open();
    const item = this.#item(name);
    if (!item) return false;
    await this.#evict(item);
    return true;
  }

  /** Keeps an item until the result is disposed, whatever else needs room. */
  pin(name: ItemName): Disposable {
    const item = this.#item(name);
    if (item) item.pins++;
    let isPinned = item !== undefined;
    return {
      [Symbol.dispose]: () => {
        if (isPinned && item) item.pins--;
        isPinned = false;
      },
    };
  }

  /** Runs the uses of an item one after the other, so that none changes what another has read. */
  async inTurn<T>(name: ItemName, use: () => Promise<T>): Promise<T> {
    const key = `${name.owner}/${keyOf(name)}`;
    const turn = (this.#uses.get(key) ?? Promise.resolve()).then(use, use);
    this.#uses.set(key, turn);
    try {
      return await turn;
    } finally {
      if (this.#uses.get(key) === turn) this.#uses.delete(key);
    }
  }

  #open(): Promise<void> {
    // What failed is tried again by the next request.
    this.#opened ??= this.#load().catch((error: unknown) => {
      this.#opened = undefined;
      throw error;
    });
    return this.#opened;
  }

  async #load(): Promise<void> {
    const found = await this.#blobs.list();
    for (const { name, bytes } of found.toSorted((a, b) => a.writtenAt - b.writtenAt)) {
      const [, owner = '', kind = '', created = '', id = '', suffix] = NAME.exec(name) ?? [];
      // What has no such name is somebody else's.
      if (suffix === undefined) continue;
      const item = this.#item({ owner, kind, id }) ?? this.#add({ owner, kind, id, created });
      this.#count(item, suffix === SUFFIXES.record ? 'record' : 'content', bytes);
      this.#lastCreated = Math.max(this.#lastCreated, Number.parseInt(created, 36));
      this.#touch(item);
    }
    // Content without a record is what a write left behind that the end of the process cut off.
    const items = [...this.#owners.values()].flatMap((owned) => [...owned.items.values()]);
    await Promise.all(items.filter(({ bytes }) => bytes.record === 0).map((item) => this.#evict(item)));
    this.#makeRoom(0);
  }

  #item({ owner, ...name }: ItemName): Item | undefined {
    return this.#owners.get(owner)?.items.get(keyOf(name));
  }

  #create({ owner, kind, id }: ItemName): Item {
    this.#lastCreated = Math.max(this.#lastCreated + 1, Date.now() * 1024);
    const created = this.#lastCreated.toString(36).padStart(11, '0');
    const item = this.#add({ owner, kind, id, created });
    this.#makeRoom(0, item);
    return item;
  }

  #add(of: ItemName & { readonly created: string }): Item {
    const owned = this.#owners.get(of.owner) ?? { items: new Map<string, Item>(), bytes: 0 };
    this.#owners.set(of.owner, owned);
    const item: Item = { ...of, bytes: { record: 0, content: 0 }, pins: 0 };
    owned.items.set(keyOf(of), item);
    this.#items++;
    return item;
  }

  /** Makes the item the one that was written last. */
  #touch(item: Item): void {
    const items = this.#owners.get(item.owner)?.items;
    if (items?.delete(keyOf(item))) items.set(keyOf(item), item);
  }

  #grow(item: Item, part: ItemPart, bytes: number): void {
    this.#makeRoom(bytes, item);
    this.#count(item, part, bytes);
  }

  /** Counts so many more bytes of an item, or fewer. Those of a forgotten item no longer count for others. */
  #count(item: Item, part: ItemPart, bytes: number): void {
    item.bytes[part] += bytes;
    if (this.#item(item) !== item) return;
    this.#bytes += bytes;
    const owned = this.#owners.get(item.owner);
    if (owned) owned.bytes += bytes;
  }

  /**
   * Evicts until there is room for so many more bytes of an item. Throws `STORE_FULL` where only those who have less than
   * the item's owner could lose something.
   */
  #makeRoom(bytes: number, item?: Item): void {
    const { maxItems, maxBytes } = this.bounds;
    while (this.#items > maxItems || this.#bytes + bytes > maxBytes) {
      const isCrowded = this.#items > maxItems;
      const oldest = this.#oldest(
        ({ items, bytes: owned }) => (isCrowded ? items.size : owned),
        isCrowded ? 0 : bytes,
        item,
      );
      if (!oldest) fail('STORE_FULL', { limit: maxBytes });
      void this.#evict(oldest).catch((error: unknown) => this.#log.warn('item not removed', { error }));
    }
  }

  /** The item that may go and was written longest ago, of the owner who has the most of what is short. */
  #oldest(shareOf: (owned: Owned) => number, bytes: number, writing: Item | undefined): Item | undefined {
    let best: { readonly item: Item; readonly share: number } | undefined;
    let least = 0;
    for (const [owner, owned] of this.#owners) {
      const isWriting = owner === writing?.owner;
      const share = shareOf(owned) + (isWriting ? bytes : 0);
      if (isWriting) least = share;
      if (best && share <= best.share) continue;
      const item = firstUnpinned(owned.items.values(), writing);
      if (item) best = { item, share };
    }
    return best && best.share >= least ? best.item : undefined;
  }

  #forget(item: Item): void {
    const owned = this.#owners.get(item.owner);
    if (!owned?.items.delete(keyOf(item))) return;
    owned.bytes -= sizeOf(item);
    if (owned.items.size === 0) this.#owners.delete(item.owner);
    this.#items--;
    this.#bytes -= sizeOf(item);
  }

  async #evict(item: Item): Promise<void> {
    this.#forget(item);
    // Without its record, what is left of an item is removed at the next start.
    await this.#blobs.remove(blobName(item, 'record'));
    await this.#blobs.remove(blobName(item, 'content'));
  }
}

/** The first that may be evicted while another is written. Few are pinned, so that the search is short. */
function firstUnpinned(items: Iterable<Item>, writing: Item | undefined): Item | undefined {
  for (const item of items) if (item.pins === 0 && item !== writing) return item;
  return undefined;
}

function sizeOf({ bytes }: Item): number {
  return bytes.record + bytes.content;
}

function keyOf({ kind, id }: Pick<ItemName, 'kind' | 'id'>): string {
  return `${kind}/${id}`;
}

function blobName({ owner, kind, created, id }: StoredItem, part: ItemPart): string {
  return `${owner}/${kind}/${created}.${id}.${SUFFIXES[part]}`;
}

function byCreation(a: StoredItem, b: StoredItem): number {
  return a.created < b.created ? -1 : a.created > b.created ? 1 : 0;
}
