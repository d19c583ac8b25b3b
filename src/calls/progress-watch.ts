import type { CallContext } from './serve-calls.ts';

/**
 * Reports progress to a watcher, also after the object was returned, until everything that loads by itself is loaded.
 */
export class ProgressWatch<P> {
  readonly #watchers = new Set<CallContext<P>>();
  #end: () => void = () => {};
  readonly #ended = new Promise<void>((resolve) => {
    this.#end = resolve;
  });

  /** Resolves when loading has ended, successfully or not. */
  async watch(context: CallContext<P>): Promise<void> {
    this.#watchers.add(context);
    await this.#ended;
  }

  tell(progress: P): void {
    for (const watcher of this.#watchers) watcher.tell(progress);
  }

  /** Watches an opening. Settles like the opening. */
  async during<T extends { readonly loaded: Promise<unknown> }>(opening: Promise<T>): Promise<T> {
    try {
      const opened = await opening;
      void opened.loaded.then(this.#end, this.#end);
      return opened;
    } catch (error) {
      this.#end();
      throw error;
    }
  }
}
