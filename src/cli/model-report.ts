import { isRocmforgeError } from '../base/errors.ts';
import { openNullDevice } from '../devices/null/index.ts';
import { LanguageModel } from '../engine/language-model.ts';
import type { GgufFile, MetadataValue } from '../gguf/index.ts';
import { ALL_ARCHITECTURES } from '../model/architectures/index.ts';
import type { RopeParameters } from '../ops/index.ts';
import type { RopeOverrides } from '../model/rope-overrides.ts';
import { describeModel } from '../plan/parts/plan-options.ts';
import type { Unread } from '../model/unread/unread.ts';
import { type FitSummary, summaryOf } from '../plan/memory/fit-plan.ts';
import { openDevice } from '../node/devices.ts';
import { type LoadModelOptions, modelOptionsOf } from '../node/load-model.ts';
import { openDraft } from '../node/open-draft.ts';
import { chatTemplateNames } from '../text/index.ts';

/** The contents of a file, without individual tensors and metadata. */
export interface ModelSummary {
  readonly file: string;
  readonly version: number;
  readonly parts: number;
  readonly bytes: number;
  readonly headerBytes: number;
  readonly name: string | undefined;
  readonly license: string | undefined;
  readonly architecture: string | undefined;
  readonly layers: number | undefined;
  readonly trainedContext: number | undefined;
  readonly tokenizer: string | undefined;
  readonly vocabulary: number | undefined;
  readonly chatTemplates: readonly string[];
  readonly tensorCount: number;
  readonly parameters: number;
  readonly formats: readonly FormatUse[];
}

/** The part of a model that is in one format. */
export interface FormatUse {
  readonly format: string;
  readonly tensors: number;
  readonly parameters: number;
  readonly bytes: number;
  readonly bitsPerWeight: number;
}

/** The memory plan of a model on a device, or on each device of a group, or why there is none. */
export type MemoryNeed =
  | {
      readonly device: string;
      /** How many devices the model is split over, each of which needs as much. */
      readonly devices: number;
      readonly context: number;
      readonly free: number;
      readonly fit: FitSummary;
    }
  | { readonly unknown: string };

/** A metadata value; for a long array its first elements and its length. */
export interface MetadataEntry {
  readonly key: string;
  readonly type: string;
  readonly length?: number | undefined;
  readonly value: MetadataValue;
}

/** A tensor, and the part of a split file that contains it. */
export interface TensorEntry {
  readonly name: string;
  readonly format: string;
  readonly shape: readonly number[];
  readonly parameters: number;
  readonly bytes: number;
  readonly offset: number;
  readonly part: number;
}

/** Number of array elements that are shown by default. */
const SHOWN_ELEMENTS = 8;

/** Summarizes a file from its header. */
export function summarize(gguf: GgufFile): ModelSummary {
  const { metadata } = gguf;
  const text = (key: string) => (metadata.typeOf(key) === 'string' ? metadata.string(key) : undefined);
  const architecture = text('general.architecture');
  const count = (key: string) => {
    const value = metadata.get(`${architecture}.${key}`);
    return typeof value === 'number' ? value : undefined;
  };
  return {
    file: gguf.name,
    version: gguf.version,
    parts: gguf.parts.length,
    bytes: gguf.byteLength,
    headerBytes: gguf.parts.reduce((sum, part) => sum + part.headerBytes, 0),
    name: text('general.name'),
    license: text('general.license'),
    architecture,
    layers: count('block_count'),
    trainedContext: count('context_length'),
    tokenizer: text('tokenizer.ggml.model'),
    vocabulary: metadata.lengthOf('tokenizer.ggml.tokens') ?? count('vocab_size'),
    chatTemplates: chatTemplateNames(metadata),
    tensorCount: gguf.tensors.length,
    parameters: gguf.tensors.reduce((sum, { elementCount }) => sum + elementCount, 0),
    formats: formatUses(gguf),
  };
}

function formatUses(gguf: GgufFile): FormatUse[] {
  const sums = new Map<string, { tensors: number; parameters: number; bytes: number }>();
  for (const { format, elementCount, byteLength } of gguf.tensors) {
    const sum = sums.get(format.name) ?? { tensors: 0, parameters: 0, bytes: 0 };
    sums.set(format.name, {
      tensors: sum.tensors + 1,
      parameters: sum.parameters + elementCount,
      bytes: sum.bytes + byteLength,
    });
  }
  return [...sums]
    .map(([format, sum]) => ({
      format,
      ...sum,
      bitsPerWeight: (8 * sum.bytes) / Math.max(1, sum.parameters),
    }))
    .sort((a, b) => b.bytes - a.bytes);
}

/** Plans the model on a device without loading it. Rejects only if the requested device does not exist. */
export async function memoryNeed(gguf: GgufFile, options: LoadModelOptions): Promise<MemoryNeed> {
  const { device: name, threads, cpuKernels, logger } = options;
  const { tensorParallel, pipelineParallel, link, gpuLayers } = options;
  const split = { tensorParallel, pipelineParallel, link, gpuLayers };
  const { workers, workerSplit, workerSecret, workerDeadline } = options;
  const others = { workers, workerSplit, workerSecret, workerDeadline };
  const request = { device: name, threads, cpuKernels, ...split, ...others, logger };
  try {
    await using device = await openDevice(request);
    const draft = options.draft && (await openDraft(options.draft, request));
    await using _draftFile = draft?.gguf;
    await using _draftDevice = draft && 'device' in draft ? draft.device : undefined;
    const parts = { gguf, device, draft, architectures: ALL_ARCHITECTURES };
    const fit = await LanguageModel.fit(parts, modelOptionsOf(options));
    const { free } = await device.memory();
    const devices = device.group?.ranks ?? 1;
    return { device: device.info.backend, devices, context: fit.context, free, fit: summaryOf(fit) };
  } catch (error) {
    if (!isRocmforgeError(error) || isRocmforgeError(error, 'INVALID_ARGUMENT')) throw error;
    return { unknown: error.message };
  }
}

/** The unused parts of a file; empty for a model that cannot be planned, whose memory plan says why. */
export function unreadOf(gguf: GgufFile): readonly Unread[] {
  const source = { gguf, device: openNullDevice(), architectures: ALL_ARCHITECTURES };
  try {
    const { setup, unread } = describeModel(source, {});
    try {
      setup.record({ ...setup.shape, rows: 1, outputs: 1 });
    } catch (error) {
      if (!isRocmforgeError(error, 'MODEL_UNREAD')) throw error;
    }
    return unread.found;
  } catch (error) {
    if (!isRocmforgeError(error)) throw error;
    return [];
  }
}

/**
 * The RoPE of a model's layers by the names of its tables; undefined for a model that cannot be configured. Throws
 * `INVALID_ARGUMENT` for overrides that the model cannot have.
 */
export function ropesOf(
  gguf: GgufFile,
  rope: RopeOverrides | undefined,
): Readonly<Record<string, RopeParameters>> | undefined {
  const source = { gguf, device: openNullDevice(), architectures: ALL_ARCHITECTURES };
  try {
    const { ropes = {} } = describeModel(source, { rope }).config.embedding;
    return Object.fromEntries(Object.entries(ropes).map(([name, { parameters }]) => [name, parameters]));
  } catch (error) {
    if (!isRocmforgeError(error) || isRocmforgeError(error, 'INVALID_ARGUMENT')) throw error;
    return undefined;
  }
}

/** All metadata in file order, with long arrays truncated unless `full`. */
export function metadataEntries(gguf: GgufFile, full: boolean): MetadataEntry[] {
  const { metadata } = gguf;
  return [...metadata.keys()].map((key) => {
    const type = metadata.typeOf(key) ?? '';
    const length = metadata.lengthOf(key);
    const value = metadata.get(key) as MetadataValue;
    if (length === undefined) return { key, type, value };
    const shown = Array.from(value as ArrayLike<number>);
    return { key, type, length, value: full ? shown : shown.slice(0, SHOWN_ELEMENTS) };
  });
}

/** All tensors in file order. */
export function tensorEntries(gguf: GgufFile): TensorEntry[] {
  return gguf.tensors.map((tensor) => ({
    name: tensor.name,
    format: tensor.format.name,
    shape: tensor.shape,
    parameters: tensor.elementCount,
    bytes: tensor.byteLength,
    offset: tensor.offset,
    part: gguf.parts.findIndex(({ source }) => source === tensor.source),
  }));
}
