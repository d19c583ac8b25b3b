import { computed, type ReadonlySignal, type Signal, signal } from '@preact/signals';
import {
  branchOf,
  type ConversationChange,
  type ConversationInfo,
  freshId,
  type Turn,
  type WholeConversation,
} from './chat-store.ts';
import { settledCall } from './tool-calls.ts';

/** Keeps a changed conversation: its turns that changed, and the ids of those that are gone. */
export type Keep = (info: ConversationInfo, turns: readonly Turn[], gone: readonly string[]) => void;

/** The turns of a conversation in branches, and what is known of it; every change is kept. */
export class TurnTree {
  readonly info: Signal<ConversationInfo>;
  /** The turns of the branch that is shown. */
  readonly turns: ReadonlySignal<readonly Turn[]>;
  /** Whether it was removed: nothing is kept of it any more. */
  protected isRemoved = false;
  readonly #all: Signal<ReadonlyMap<string, Turn>>;
  readonly #keep: Keep;

  constructor({ info, turns }: WholeConversation, keep: Keep) {
    this.info = signal(info);
    this.#all = signal(new Map(turns.map((turn) => [turn.id, settled(turn)])));
    this.#keep = keep;
    this.turns = computed(() => branchOf(this.#all.value.values(), this.info.value.leaf));
  }

  /** All turns of all branches. */
  get whole(): WholeConversation {
    return { info: this.info.value, turns: [...this.#all.value.values()] };
  }

  /** Takes over what another tab has changed. */
  takeOver({ info, turns }: WholeConversation): void {
    this.#all.value = new Map(turns.map((turn) => [turn.id, turn]));
    this.info.value = info;
  }

  /** Keeps nothing any more: it was removed. */
  forget(): void {
    this.isRemoved = true;
  }

  /** The turns beside this one, itself among them, the oldest first. */
  branches({ parent, role }: Turn): readonly Turn[] {
    return [...this.#all.value.values()]
      .filter((turn) => turn.parent === parent && turn.role === role)
      .sort((a, b) => a.at - b.at);
  }

  /** Shows the branch through this turn, as far as it was continued last. */
  show(turn: Turn): void {
    let leaf = turn;
    for (;;) {
      const next = this.#after(leaf.id).sort((a, b) => b.at - a.at)[0];
      if (!next) break;
      leaf = next;
    }
    this.changeInfo({ leaf: leaf.id });
    this.save([]);
  }

  /** Removes a turn with all that follows it, and tells what brings them back. */
  remove(turn: Turn): () => void {
    const gone = [turn];
    for (const { id } of gone) gone.push(...this.#after(id));
    const { leaf } = this.info.value;
    const isShown = gone.some(({ id }) => id === leaf);
    const ids = new Set(gone.map(({ id }) => id));
    this.#all.value = new Map([...this.#all.value].filter(([id]) => !ids.has(id)));
    if (isShown) this.changeInfo({ leaf: turn.parent });
    this.save([], [...ids]);
    return () => {
      this.#all.value = new Map([...this.#all.value, ...gone.map((of) => [of.id, of] as const)]);
      this.changeInfo({ leaf });
      this.save(gone);
    };
  }

  change(changed: ConversationChange): void {
    this.changeInfo(changed);
    this.save([]);
  }

  protected turn(id: string): Turn | undefined {
    return this.#all.value.get(id);
  }

  #after(parent: string): Turn[] {
    return [...this.#all.value.values()].filter((turn) => turn.parent === parent);
  }

  protected add(turn: Omit<Turn, 'id' | 'conversation' | 'at'>): Turn {
    const added = { ...turn, id: freshId(), at: Date.now(), conversation: this.info.value.id };
    this.#all.value = new Map([...this.#all.value, [added.id, added]]);
    this.changeInfo({ leaf: added.id, changed: Date.now() });
    return added;
  }

  protected changeTurn(id: string, changed: Partial<Turn>): void {
    const turn = this.#all.value.get(id);
    // It may have been removed while it was written.
    if (turn) this.#all.value = new Map(this.#all.value).set(id, { ...turn, ...changed });
  }

  protected changeInfo(changed: Partial<ConversationInfo>): void {
    this.info.value = { ...this.info.value, ...changed };
  }

  protected saveTurn(id: string): void {
    const turn = this.#all.value.get(id);
    if (turn) this.save([turn]);
  }

  protected save(turns: readonly Turn[], gone: readonly string[] = []): void {
    if (!this.isRemoved) this.#keep(this.info.value, turns, gone);
  }
}

/** A kept answer that was being written when its page ended. */
function settled(turn: Turn): Turn {
  const { state, calls } = turn;
  if (state !== 'writing' && !calls) return turn;
  return { ...turn, state: state === 'writing' ? 'stopped' : state, calls: calls?.map(settledCall) };
}
