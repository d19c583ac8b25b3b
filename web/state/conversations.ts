import { effect, type Signal, signal } from '@preact/signals';
import {
  branchOf,
  byRecency,
  ChatStore,
  type ConversationChange,
  type ConversationInfo,
  freshId,
  hasAll,
  type Turn,
  type WholeConversation,
} from './chat-store.ts';
import { Conversation, type ConversationMeans } from './conversation.ts';
import { copyOf } from './exchange.ts';

/** What was removed, and what brings it back. */
export interface Removal {
  readonly what: 'conversation' | 'conversations' | 'turn';
  readonly undo: () => void;
}

/** The person's conversations: those that are kept, and the one that is open. */
export class Conversations {
  /** All that are kept, in the order of lists. */
  readonly list = signal<readonly ConversationInfo[]>([]);
  readonly current: Signal<Conversation>;
  /** What is looked for, and the ids of what was found; undefined if nothing is. */
  readonly search = signal('');
  readonly found = signal<ReadonlySet<string> | undefined>(undefined);
  readonly removed = signal<Removal | undefined>(undefined);
  /** Those that are not open and whose answers are being written. */
  readonly away = signal<ReadonlyMap<string, Conversation>>(new Map());
  /** Why nothing is kept, or could not be. */
  readonly problem = signal<unknown>(undefined);
  readonly #means: ConversationMeans;
  readonly #store: Promise<ChatStore | undefined>;
  /** Changes are written in the order in which they were made. */
  #writing: Promise<void> = Promise.resolve();

  constructor(means: ConversationMeans) {
    this.#means = means;
    this.current = signal(this.#fresh());
    this.#store = ChatStore.open().catch((error: unknown) => {
      this.problem.value = error;
      return undefined;
    });
    void this.#begin();
  }

  /** Opens an empty conversation. */
  begin(): void {
    this.#leave();
    this.current.value = this.#fresh();
  }

  /** Opens a kept conversation; does nothing if it is gone. */
  async open(id: string): Promise<void> {
    const info = this.list.value.find((of) => of.id === id);
    const store = await this.#store;
    if (!info || !store || this.current.value.info.value.id === id) return;
    await this.#writing;
    const turns = await store.turnsOf(id);
    const away = this.away.value.get(id);
    this.#leave();
    this.current.value = away ?? this.#conversation({ info, turns });
  }

  /** A kept conversation with all its turns. */
  async whole(id: string): Promise<WholeConversation | undefined> {
    const live = this.#live(id);
    if (live) return live.whole;
    const info = this.list.value.find((of) => of.id === id);
    const store = await this.#store;
    return info && store && { info, turns: await store.turnsOf(id) };
  }

  /** Changes a kept conversation. */
  change(id: string, changed: ConversationChange): void {
    const live = this.#live(id);
    if (live) return live.change(changed);
    const info = this.list.value.find((of) => of.id === id);
    if (info) this.#keep({ ...info, ...changed }, []);
  }

  /** Keeps a copy of a conversation and opens it: with all its branches, or with the one up to a turn alone. */
  async duplicate(id: string, end?: Turn): Promise<void> {
    const whole = await this.whole(id);
    if (!whole) return;
    const { info: of, turns } = whole;
    const branch = end && { info: { ...of, leaf: end.id }, turns: [...branchOf(turns, end.id)] };
    const copy = copyOf(branch ?? whole);
    const info = { ...copy.info, changed: Date.now() };
    this.add([{ ...copy, info }]);
    await this.open(info.id);
  }

  /** Removes conversations, which can be undone as long as `removed` shows it. */
  async remove(...ids: readonly string[]): Promise<void> {
    const wholes = (await Promise.all(ids.map((id) => this.whole(id)))).filter(
      (whole) => whole !== undefined,
    );
    const [first] = wholes;
    if (!first) return;
    const { value: current } = this.current;
    const open = wholes.find(({ info }) => info.id === current.info.value.id);
    for (const id of ids) this.#live(id)?.forget();
    if (open) this.begin();
    const gone = new Set(ids);
    this.list.value = this.list.value.filter(({ id }) => !gone.has(id));
    for (const { info } of wholes) this.#write((store) => store.remove(info.id));
    const undo = () => {
      this.add(wholes);
      if (open) this.current.value = this.#conversation(open);
    };
    this.removed.value = { what: wholes.length > 1 ? 'conversations' : 'conversation', undo };
  }

  /** Removes a turn of the open conversation with what follows it, which can be undone. */
  removeTurn(turn: Turn): void {
    this.removed.value = { what: 'turn', undo: this.current.value.remove(turn) };
  }

  /** Takes back the last removal. */
  undo(): void {
    this.removed.value?.undo();
    this.removed.value = undefined;
  }

  /** Keeps conversations with these ids. */
  add(wholes: readonly WholeConversation[]): void {
    for (const { info, turns } of wholes) this.#keep(info, turns);
  }

  /** Looks for words in titles and turns. */
  async find(text: string): Promise<void> {
    this.search.value = text;
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    const store = await this.#store;
    if (words.length === 0 || !store) {
      this.found.value = undefined;
      return;
    }
    const found = await store.search(words);
    if (this.search.value !== text) return;
    for (const { id, title } of this.list.value) if (hasAll(title, words)) found.add(id);
    this.found.value = found;
  }

  /** Reads what is kept, and opens the conversation that the address names. */
  async #begin(): Promise<void> {
    const store = await this.#store;
    // Before the list is read: what another tab changes from here on is not missed.
    store?.onChange((changed) => void this.#follow(changed));
    await this.#refresh();
    const open = () => this.open(location.hash.slice(1));
    await open();
    addEventListener('hashchange', () => void open());
    // From here on the address follows, so that a reload comes back to the conversation.
    effect(() => {
      const { info, turns } = this.current.value;
      const hash = turns.value.length > 0 ? `#${info.value.id}` : '';
      if (location.hash !== hash)
        history.replaceState(null, '', hash === '' ? location.pathname + location.search : hash);
    });
  }

  /** Takes over what another tab has changed. */
  async #follow(id: string): Promise<void> {
    await this.#refresh();
    const live = this.#live(id);
    if (!live) return;
    const info = this.list.value.find((of) => of.id === id);
    if (!info) {
      // It was removed there, where that can be undone.
      live.forget();
      if (live === this.current.value) this.begin();
      return;
    }
    const turns = await (await this.#store)?.turnsOf(id);
    if (turns) live.takeOver({ info, turns });
  }

  /** Reads the list, again if something was changed here meanwhile: what is read then lacks it. */
  async #refresh(): Promise<void> {
    try {
      const store = await this.#store;
      if (!store) return;
      for (;;) {
        const written = this.#writing;
        await written;
        const list = await store.list();
        if (this.#writing !== written) continue;
        this.list.value = list;
        return;
      }
    } catch (error) {
      this.problem.value = error;
    }
  }

  #fresh(): Conversation {
    const now = Date.now();
    const info = { id: freshId(), title: '', titledBy: 'words', created: now, changed: now } as const;
    return this.#conversation({ info: { ...info, leaf: undefined }, turns: [] });
  }

  #conversation(whole: WholeConversation): Conversation {
    return new Conversation(whole, this.#means, (info, turns, gone) => this.#keep(info, turns, gone));
  }

  /** The open conversation, or one whose answer is being written, by its id. */
  #live(id: string): Conversation | undefined {
    const { value: current } = this.current;
    return current.info.value.id === id ? current : this.away.value.get(id);
  }

  /** An answer of the server goes on; a model in the browser answers one conversation at a time. */
  #leave(): void {
    const { value: left } = this.current;
    const { id } = left.info.value;
    const others = () => new Map([...this.away.value].filter(([of]) => of !== id));
    if (!left.leave()) return;
    this.away.value = others().set(id, left);
    const end = left.answering.subscribe((answering) => {
      if (answering) return;
      this.away.value = others();
      queueMicrotask(() => end());
    });
  }

  #keep(info: ConversationInfo, turns: readonly Turn[], gone: readonly string[] = []): void {
    const others = this.list.value.filter(({ id }) => id !== info.id);
    this.list.value = [info, ...others].sort(byRecency);
    this.#write((store) => store.save(info, turns, gone));
  }

  #write(write: (store: ChatStore) => Promise<void>): void {
    this.#writing = this.#writing.then(async () => {
      try {
        const store = await this.#store;
        if (store) await write(store);
      } catch (error) {
        this.problem.value = error;
      }
    });
  }
}
