import { fail } from '../base/errors.ts';
import type { GgufFile } from '../gguf/index.ts';
import type { TensorIndex } from '../model/part-scope.ts';
import { AdapterSet } from '../model/lora/adapter-set.ts';
import { LoraAdapter } from '../model/lora/lora-adapter.ts';
import { mergeAdapters } from '../model/lora/merge-adapters.ts';
import { openGguf } from './open-gguf.ts';

/** The location of a LoRA adapter, and its scale. */
export interface AdapterSource {
  /** A GGUF file: a path or an http(s) URL. */
  readonly location: string;
  /** Scale for requests that do not select adapters (1: as trained). Default: 0, not applied; 1 if merged. */
  readonly scale?: number;
}

/** A model's adapters. */
export interface AdapterOptions {
  /** LoRA adapters in GGUF that requests can select, by name. Default: none. */
  readonly adapters?: Readonly<Record<string, string | AdapterSource>> | undefined;
  /**
   * Merges the adapters into the weights while loading, at their scales, instead of applying them separately: steps are
   * as fast as without adapters, but requests cannot select. Adapted quantized matrices become F16. Default false.
   */
  readonly mergeAdapters?: boolean | undefined;
}

/** Adapters as passed to the model: separate, or merged weights. */
export interface OpenedAdapters {
  readonly adapters?: AdapterSet;
  readonly merged?: TensorIndex;
}

/**
 * Reads a model's adapters into memory and closes their files. Rejects with `ADAPTER_INVALID`, `INVALID_ARGUMENT` for a
 * scale that is not finite, or errors of reading.
 */
export async function openAdapters(
  base: GgufFile,
  { adapters = {}, mergeAdapters: merges = false }: AdapterOptions,
  signal?: AbortSignal,
): Promise<OpenedAdapters> {
  const sources = Object.entries(adapters).map(([name, of]) => sourceOf(name, of, merges ? 1 : 0));
  if (sources.length === 0) return {};
  const tensors = new Map(base.tensors.map((tensor) => [tensor.name, tensor]));
  const architecture = base.metadata.string('general.architecture') ?? '';
  const files: GgufFile[] = [];
  try {
    const read: [LoraAdapter, number][] = [];
    for (const { name, location, scale } of sources) {
      const gguf = await openGguf(location, signal ? { signal } : {});
      files.push(gguf);
      read.push([LoraAdapter.read(name, gguf, { architecture, tensors }), scale]);
    }
    if (merges) return { merged: await mergeAdapters(read, tensors) };
    return { adapters: await AdapterSet.load(read, tensors) };
  } finally {
    for (const file of files) await file.dispose();
  }
}

function sourceOf(name: string, of: string | AdapterSource, standard: number) {
  const { location, scale = standard } = typeof of === 'string' ? { location: of } : of;
  if (!Number.isFinite(scale)) {
    fail('INVALID_ARGUMENT', { name: `scale of ${name}`, found: `${scale}`, expected: 'a finite number' });
  }
  return { name, location, scale };
}
