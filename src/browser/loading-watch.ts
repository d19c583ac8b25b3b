import type { LanguageModel } from '../engine/language-model.ts';
import type { CallContext } from './calls/serve-calls.ts';
import type { BrowserLoadProgress } from './engine-calls.ts';

/** Brings progress to whoever watches, after the model was given out as well, until all that loads by itself is there. */
export class LoadingWatch {
  readonly #watchers = new Set<CallContext>();
  #end: () => void = () => {};
  readonly #ended = new Promise<void>((resolve) => {
    this.#end = resolve;
  });

  /** Resolves when loading has ended, well or not. */
  async watch(context: CallContext): Promise<void> {
    this.#watchers.add(context);
    await this.#ended;
  }

  tell(progress: BrowserLoadProgress): void {
    for (const watcher of this.#watchers) watcher.tell(progress);
  }

  /** Watches over an opening. Settles as it does. */
  async during(opening: Promise<LanguageModel>): Promise<LanguageModel> {
    try {
      const model = await opening;
      void model.loaded.then(this.#end, this.#end);
      return model;
    } catch (error) {
      this.#end();
      throw error;
    }
  }
}
