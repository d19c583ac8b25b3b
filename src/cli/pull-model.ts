import type { GgufFile } from '../gguf/index.ts';
import { formatBytes } from '../base/bytes.ts';
import { fail, isRocmforgeError } from '../base/errors.ts';
import {
  type HubFile,
  isModelName,
  ModelHub,
  type ModelName,
  modelNameText,
  preferredVariant,
  type PulledModel,
  type GgufVariant,
  type RemoteModel,
} from '../node/hub/index.ts';
import type { HttpRangeOptions } from '../io/index.ts';
import type { LoadModelOptions } from '../node/load-model.ts';
import { byteProgress } from './byte-progress.ts';
import type { CommandContext } from './command.ts';
import { type HubFlags, hubOptionsOf } from './hub-options.ts';
import type { MemoryNeed } from './model-report.ts';
import type { DeviceFlags } from './options.ts';

/** What decides which quantization is taken, and how it is pulled. */
export type PullFlags = HubFlags & DeviceFlags & { readonly context?: number; readonly connections?: number };

/** A quantization, and the memory that it takes here. */
export interface JudgedVariant {
  readonly variant: GgufVariant<HubFile>;
  /** Bytes with the whole context; undefined if it is not known. */
  readonly memory: number | undefined;
  /** Whether that fits into the device's free memory, without streaming layers. */
  readonly fits: boolean | undefined;
}

/** How a model's quantizations fit a device. */
export interface Judgement {
  readonly models: readonly JudgedVariant[];
  readonly recommended: GgufVariant<HubFile>;
  /** The device and its free memory; what hindered the plan where there is none. */
  readonly device: string | undefined;
  readonly free: number | undefined;
  readonly unknown: string | undefined;
}

/**
 * Plans the memory of the usual quantization from its header, which is read where it is, and of the others by the sizes of their
 * files. The usual one is recommended if it fits, otherwise the largest that does. Rejects only if the requested device does not
 * exist.
 */
export async function judge(
  hub: ModelHub,
  remote: RemoteModel,
  flags: PullFlags,
  context: CommandContext,
): Promise<Judgement> {
  const { device, threads, cpuKernels, gpus, link, gpuLayers, context: size } = flags;
  const { workers, workerSplit, workerSecret, workerDeadline } = flags;
  const { models } = remote;
  const usual = preferredVariant(models) as GgufVariant<HubFile>;
  const { url, headers } = remote.address(usual.files[0] as HubFile);
  const need = await planAt(url, {
    http: { headers, fetch: hub.fetch },
    options: {
      ...{ device, threads, cpuKernels, ...gpus, link, gpuLayers },
      ...{ workers, workerSplit, workerSecret, workerDeadline },
      ...{ context: size, shrinkContext: true, allowUnread: true },
    },
    context,
  });
  if ('unknown' in need) {
    const judged = models.map((variant) => ({ variant, memory: undefined, fits: undefined }));
    return { models: judged, recommended: usual, device: undefined, free: undefined, unknown: need.unknown };
  }
  const { fit, free } = need;
  // On the device, weights take about as much more as those that were planned.
  const perByte = fit.allWeights / usual.bytes;
  const judged = models.map((variant): JudgedVariant => {
    const memory = Math.round(variant.bytes * perByte + fit.total - fit.weights);
    return { variant, memory, fits: memory <= free };
  });
  const fitting = judged.filter(({ fits }) => fits).map(({ variant }) => variant);
  const recommended = fitting.includes(usual) ? usual : (fitting.at(-1) ?? (models[0] as typeof usual));
  return { models: judged, recommended, device: need.device, free, unknown: undefined };
}

/** The memory plan of a file that is read where it is; a file that cannot be read has none. */
async function planAt(
  url: string,
  {
    http,
    options,
    context: { signal, logger },
  }: {
    readonly http: HttpRangeOptions;
    readonly options: LoadModelOptions;
    readonly context: CommandContext;
  },
): Promise<MemoryNeed> {
  const [{ openGguf }, { memoryNeed }] = await Promise.all([
    import('../node/open-gguf.ts'),
    import('./model-report.ts'),
  ]);
  try {
    await using gguf = await openGguf(url, { http, signal, logger });
    return await memoryNeed(gguf, options);
  } catch (error) {
    const isAsked = isRocmforgeError(error, 'ABORTED') || isRocmforgeError(error, 'INVALID_ARGUMENT');
    if (isAsked || !isRocmforgeError(error)) throw error;
    return { unknown: error.message };
  }
}

/** Pulls a model, of the recommended quantization if its name leaves it open, and shows the progress. Rejects as `ModelHub.pull`. */
export async function pullShown(
  hub: ModelHub,
  text: string,
  flags: PullFlags,
  context: CommandContext,
): Promise<PulledModel> {
  const { output } = context;
  const asked = hub.parse(text);
  const looked = asked.kind === 'url' ? undefined : await hub.look(asked);
  const name = looked ? await recommendedName(hub, looked, flags, context) : asked;
  for (const { path } of looked?.projectors ?? []) {
    output.note(`${path} is not pulled: only text is supported, not images or sound`);
  }
  const begin = performance.now();
  const labels = { doing: 'pulling', done: 'pulled', name: modelNameText(name) };
  const display = await byteProgress(output, labels);
  let isToldOfWait = false;
  try {
    const pulled = await hub.pull(
      name,
      {
        connections: flags.connections,
        onProgress: ({ phase, bytes, totalBytes }) => {
          if (phase !== 'waiting') return display.show(bytes, totalBytes ?? bytes);
          if (!isToldOfWait) output.note('another process is downloading this file: waiting for it');
          isToldOfWait = true;
        },
      },
      looked,
    );
    display.end((performance.now() - begin) / 1000);
    return pulled;
  } finally {
    display.clear();
  }
}

/**
 * The path or address of a model for a command that runs it: a model by name is found in the cache, or pulled. Rejects as
 * `pullShown`, and with `INVALID_ARGUMENT` for a header that nobody would get.
 */
export async function locatedModel(text: string, flags: PullFlags, context: CommandContext): Promise<string> {
  if (!isModelName(text)) {
    const isAddress = /^https?:\/\//i.test(text);
    if (flags.header && !isAddress) {
      const expected = 'a model by name or address, whose server gets it';
      fail('INVALID_ARGUMENT', { name: '--header', found: `${text}, a file`, expected });
    }
    return text;
  }
  using hub = await ModelHub.open(hubOptionsOf(flags, context));
  const cached = await hub.cached(hub.parse(text));
  return (cached ?? (await pullShown(hub, text, flags, context))).path;
}

/**
 * Opens a model for a command that only reads its header: one by name that is not in the cache is read at its hub, without
 * pulling it. Rejects as `openGguf` and `ModelHub.look`.
 */
export async function openNamed(text: string, flags: HubFlags, context: CommandContext): Promise<GgufFile> {
  const { signal, logger } = context;
  const { openGguf } = await import('../node/open-gguf.ts');
  const open = (location: string, headers = flags.header, fetch?: typeof globalThis.fetch) =>
    openGguf(location, { http: { ...(headers && { headers }), ...(fetch && { fetch }) }, signal, logger });
  if (!isModelName(text)) return open(await locatedModel(text, flags, context));
  const hub = await ModelHub.open(hubOptionsOf(flags, context));
  const asked = hub.parse(text);
  const cached = await hub.cached(asked);
  if (cached || asked.kind === 'url') return open(cached?.path ?? text);
  const remote = await hub.look(asked);
  const [first] = hub.choose(remote).files as readonly [HubFile];
  const { url, headers } = remote.address(first);
  return open(url, headers, hub.fetch);
}

async function recommendedName(
  hub: ModelHub,
  remote: RemoteModel,
  flags: PullFlags,
  context: CommandContext,
): Promise<ModelName> {
  const { name, models } = remote;
  const isOpen = name.kind === 'hub' && name.quantization === undefined && name.file === undefined;
  if (!isOpen || models.length === 1) return name;
  const { recommended, device, free, models: judged } = await judge(hub, remote, flags, context);
  const { quantization, bytes } = recommended;
  const { output } = context;
  const chosen = judged.find(({ variant }) => variant === recommended);
  if (chosen?.fits === false && free !== undefined) {
    const needs = `${formatBytes(chosen.memory ?? bytes)}, ${device} has ${formatBytes(free)} free`;
    output.warn(`no quantization of ${modelNameText(name)} fits: the smallest needs ${needs}`);
  }
  output.note(`${quantization} of ${models.length} quantizations, ${formatBytes(bytes)}`);
  const isUnique = models.filter((variant) => variant.quantization === quantization).length === 1;
  return isUnique ? { ...name, quantization } : { ...name, file: recommended.files[0]?.path };
}
