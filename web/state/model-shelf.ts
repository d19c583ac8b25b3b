import { signal } from '@preact/signals';
import type { StorageQuota, StoredModel } from '../../src/browser/index.ts';
import { library } from './model-session.ts';

/** A model served alongside the page. */
export interface ServedModel {
  readonly file: string;
  readonly title: string;
  readonly about: string;
  readonly license: string;
  readonly bytes: number;
  readonly sha256: string;
}

/** The address of a served model. */
export function addressOf({ file }: ServedModel): string {
  return new URL(`./models/${file}`, document.baseURI).href;
}

/** The models to choose from: those served alongside the page, and those in the browser's storage. */
export class ModelShelf {
  readonly served = signal<readonly ServedModel[]>([]);
  readonly stored = signal<readonly StoredModel[]>([]);
  readonly quota = signal<StorageQuota | undefined>(undefined);
  /** Why storage is unavailable, or why a model could not be removed. */
  readonly problem = signal<unknown>(undefined);

  /** Updates the lists. Never rejects. */
  async refresh(): Promise<void> {
    await Promise.all([this.#findServed(), this.#findStored()]);
  }

  async remove(model: StoredModel): Promise<void> {
    try {
      this.problem.value = undefined;
      const { ModelStore } = await library();
      await (await ModelStore.open()).remove(model);
    } catch (error) {
      this.problem.value = error;
    }
    await this.#findStored();
  }

  async #findServed(): Promise<void> {
    try {
      const response = await fetch('./models/models.json');
      if (response.ok) this.served.value = (await response.json()) as ServedModel[];
    } catch {
      // A page served without models has no list.
    }
  }

  async #findStored(): Promise<void> {
    try {
      const { ModelStore } = await library();
      const store = await ModelStore.open();
      this.stored.value = await store.list();
      this.quota.value = await store.quota();
    } catch (error) {
      this.problem.value = error;
    }
  }
}
