import { fail } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { describeValue } from '../base/option-values.ts';
import { checkOptions, type OptionNames } from '../base/options.ts';
import type { GgufFile } from '../gguf/index.ts';
import type { ControlVectors } from '../model/control-vectors.ts';
import type { TensorIndex } from '../model/part-scope.ts';
import { type AdapterRoom, AdapterSet } from '../model/lora/adapter-set.ts';
import { LoraAdapter } from '../model/lora/lora-adapter.ts';
import { mergeAdapters } from '../model/lora/merge-adapters.ts';
import { type ControlVectorOptions, openControlVectors } from './open-control-vectors.ts';
import { openGguf } from './open-gguf.ts';

/** The default of vLLM. */
const DEFAULT_RANK = 16;

/** The location of a LoRA adapter, and its scale. */
export interface AdapterSource {
  /** A GGUF file: a path or an http(s) URL. */
  readonly location: string;
  /** Scale for requests that do not select adapters (1: as trained). Default: 0, not applied; 1 if merged. */
  readonly scale?: number;
}

const ADAPTER_SOURCE: OptionNames<AdapterSource> = { location: true, scale: true };

/** A model's adapters, and what is added to its residual stream. */
export interface AdapterOptions extends ControlVectorOptions {
  /** LoRA adapters in GGUF that requests can select, by name. Default: none. */
  readonly adapters?: Readonly<Record<string, string | AdapterSource>> | undefined;
  /**
   * Maximum adapters, including those from the beginning: room for others, which `loadAdapter` loads later. All matrices
   * of layers then have room for adapters, which takes memory and time in every step. Default: no room for others.
   */
  readonly maxAdapters?: number | undefined;
  /** Maximum rank of adapters that are loaded later. Default 16. */
  readonly maxAdapterRank?: number | undefined;
  /**
   * Merges the adapters into the weights while loading, at their scales, instead of applying them separately: steps are
   * as fast as without adapters, but requests cannot select. Adapted quantized matrices become F16. Default false.
   */
  readonly mergeAdapters?: boolean | undefined;
}

/** Adapters as passed to the model: separate, or merged weights; and control vectors. */
export interface OpenedAdapters {
  readonly adapters?: AdapterSet;
  readonly merged?: TensorIndex;
  readonly control?: ControlVectors;
}

/**
 * Reads a model's adapters and control vectors into memory and closes their files. Rejects with `ADAPTER_INVALID`,
 * `INVALID_ARGUMENT` for a scale that is not finite, as `openControlVectors`, or with errors of reading.
 */
export async function openAdapters(
  base: GgufFile,
  options: AdapterOptions & {
    readonly signal?: AbortSignal | undefined;
    readonly logger?: Logger | undefined;
  },
): Promise<OpenedAdapters> {
  const control = await openControlVectors(base, options);
  return { ...(await openLora(base, options, options.signal)), ...(control && { control }) };
}

async function openLora(
  base: GgufFile,
  {
    adapters = {},
    mergeAdapters: merges = false,
    maxAdapters,
    maxAdapterRank = DEFAULT_RANK,
  }: AdapterOptions,
  signal?: AbortSignal,
): Promise<OpenedAdapters> {
  const sources = Object.entries(adapters).map(([name, of]) => sourceOf(name, of, merges ? 1 : 0));
  const room = roomOf({ maxAdapters, maxAdapterRank, merges });
  if (sources.length === 0 && !room) return {};
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
    return { adapters: await AdapterSet.load(read, tensors, room) };
  } finally {
    for (const file of files) await file.dispose();
  }
}

/** Throws `INVALID_ARGUMENT` for room that is none, or beside merged adapters. */
function roomOf({
  maxAdapters: count,
  maxAdapterRank: rank,
  merges,
}: {
  readonly maxAdapters: number | undefined;
  readonly maxAdapterRank: number;
  readonly merges: boolean;
}): AdapterRoom | undefined {
  if (count === undefined) return undefined;
  for (const [name, value] of Object.entries({ maxAdapters: count, maxAdapterRank: rank })) {
    if (Number.isInteger(value) && value > 0) continue;
    fail('INVALID_ARGUMENT', { name, found: `${value}`, expected: 'a whole number from 1' });
  }
  if (merges) {
    fail('INVALID_ARGUMENT', { name: 'maxAdapters', found: 'mergeAdapters', expected: 'one of the two' });
  }
  return { count, rank };
}

function sourceOf(name: string, of: string | AdapterSource, standard: number) {
  if (typeof of !== 'string') checkOptions(`adapter ${name}`, of ?? null, ADAPTER_SOURCE);
  const { location, scale = standard } = typeof of === 'string' ? { location: of } : of;
  if (typeof location !== 'string')
    fail('INVALID_ARGUMENT', {
      name: `adapter ${name}`,
      found: describeValue(location),
      expected: 'a location',
    });
  if (!Number.isFinite(scale)) {
    fail('INVALID_ARGUMENT', { name: `scale of ${name}`, found: `${scale}`, expected: 'a finite number' });
  }
  return { name, location, scale };
}
