import type { TextModel } from './text-model.ts';

/** What happens to the adapters of an open model. */
export type AdapterChange =
  | { readonly kind: 'load'; readonly name: string; readonly location: string; readonly scale: number }
  | { readonly kind: 'unload'; readonly name: string }
  | { readonly kind: 'scale'; readonly scales: ReadonlyMap<string, number> };

/** Makes a change to a model's adapters. Rejects as the model's methods. */
export function changeAdapters(model: TextModel, change: AdapterChange): Promise<void> {
  if (change.kind === 'load') return model.loadAdapter(change.name, change.location, change.scale);
  if (change.kind === 'unload') return model.unloadAdapter(change.name);
  return model.scaleAdapters(change.scales);
}

/** What has changed of a model's adapters since it was opened, so that it is the same when it is opened again. */
export class AdapterChanges {
  /** The latest of each adapter. */
  readonly #files = new Map<string, Exclude<AdapterChange, { kind: 'scale' }>>();
  readonly #scales = new Map<string, number>();

  /** Records a change that the model has made. */
  add(change: AdapterChange): void {
    if (change.kind === 'scale') {
      for (const [name, scale] of change.scales) this.#scales.set(name, scale);
    } else {
      this.#files.set(change.name, change);
      this.#scales.delete(change.name);
    }
  }

  /** Makes all changes to a model that was just opened, by `make`. Rejects as that does. */
  async apply(
    { adapters }: { readonly adapters: ReadonlyMap<string, number> },
    make: (change: AdapterChange) => Promise<void>,
  ): Promise<void> {
    const changes = [...this.#files.values()];
    for (const change of changes)
      if (change.kind === 'unload' && adapters.has(change.name)) await make(change);
    for (const change of changes) if (change.kind === 'load') await make(change);
    if (this.#scales.size > 0) await make({ kind: 'scale', scales: this.#scales });
  }
}
