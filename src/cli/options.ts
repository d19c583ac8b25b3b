import { type Command, InvalidArgumentError, Option } from 'commander';
import { fail } from '../base/errors.ts';
import { LINK_CHOICES, type LinkChoice } from '../device/index.ts';
import { LOAD_MODES, type LoadMode } from '../runtime/opening/load-mode.ts';
import { DECODE_PLACES, type DecodePlace } from '../load/chunk.ts';
import { WEIGHT_POLICIES, type WeightPolicy } from '../formats/weight-policy.ts';
import { EMBEDDING_PLACES, type EmbeddingPlace } from '../model/embedding-place.ts';
import { EXPERT_PLACES, type ExpertPlace } from '../model/expert-place.ts';
import { CACHE_TYPES, type CacheType } from '../model/layer-states.ts';
import { CPU_KERNELS, type CpuKernels } from '../node/cpu-kernels.ts';
import { DEVICE_NAMES, type DeviceRequest, WORKER_SPLITS, type WorkerSplit } from '../node/devices.ts';
import type { GpuLayers } from '../plan/parts/plan-options.ts';
import { type AdapterFlags, adapterOptions } from './adapter-options.ts';
import { type ControlVectorFlags, controlVectorOptions } from './control-vector-options.ts';
import { type HubFlags, hubOptions } from './hub-options.ts';
import { type RopeFlags, ropeOptions } from './rope-options.ts';

/** Options of every command. */
export interface GlobalFlags {
  readonly log?: 'debug' | 'trace';
  readonly logJson?: boolean;
  readonly quiet?: boolean;
  readonly verbose?: boolean;
}

/** Which model and how it is made ready. */
export interface ModelFlags extends AdapterFlags, ControlVectorFlags, RopeFlags, HubFlags {
  readonly model?: string;
  readonly context?: number;
  readonly batch?: number;
  readonly cacheType?: CacheType;
  readonly cacheTypeK?: CacheType;
  readonly cacheTypeV?: CacheType;
  readonly weights?: WeightPolicy;
  readonly speculation?: number;
  readonly draft?: string;
  readonly draftMax?: number;
  readonly draftMin?: number;
  readonly draftPMin?: number;
  readonly draftDevice?: string;
  readonly deterministic?: boolean;
  readonly decode?: DecodePlace;
  readonly dequantized?: boolean;
  readonly embedding?: EmbeddingPlace;
  readonly experts?: ExpertPlace;
  readonly expertSlots?: number;
  readonly expertPrefetch?: number;
  readonly pooling?: 'none' | 'mean' | 'cls' | 'last' | 'rank';
  readonly load?: LoadMode;
  readonly memory?: number;
  readonly weightMemory?: number;
  readonly hostMemory?: number;
  readonly shrinkContext?: boolean;
  readonly allowUnread?: boolean;
  readonly pool?: boolean;
  readonly loadTrace?: string;
  readonly profile?: string | true | undefined;
}

/** Where the model runs. */
export interface DeviceFlags {
  readonly device?: string;
  readonly threads?: number;
  readonly cpuKernels?: CpuKernels;
  readonly gpus?: GpuSplit;
  readonly link?: LinkChoice;
  readonly gpuLayers?: GpuLayers;
  readonly workers?: readonly string[];
  readonly workerSplit?: WorkerSplit;
  readonly workerSecret?: string;
  readonly workerDeadline?: number;
}

/** Results for programs. */
export interface JsonFlags {
  readonly json?: boolean;
}

/** The options of every command. These are functions because each command modifies its own copy. */
export function globalOptions(): Option[] {
  return [
    new Option('--log <level>', 'log every phase (debug) or every step (trace) to stderr').choices([
      'debug',
      'trace',
    ]),
    new Option('--log-json', 'write the log as lines of JSON'),
    new Option('-q, --quiet', 'no progress and no timings'),
    new Option('-v, --verbose', 'progress and timings even if stderr is not a terminal'),
  ];
}

/** Which file. */
export function modelOption(): Option {
  return new Option(
    '-m, --model <location>',
    'GGUF file, http(s) address, or name such as hf:user/repo:Q4_K_M (default: the bundled MiniMind2-Small)',
  ).helpGroup('Model:');
}

/** The model's file, and how it is opened. */
export function modelOptions(): Option[] {
  return [
    modelOption(),
    contextOption(),
    new Option('-b, --batch <tokens>', 'prompt tokens per step (default: 512; large GPUs: 2048)')
      .argParser(wholeNumber(1))
      .helpGroup('Model:'),
    new Option(
      '--deterministic',
      'batch-invariant results: the same text whatever else is in the batch; slower on GPUs',
    ).helpGroup('Model:'),
    new Option(
      '--cache-type <type>',
      'type of the KV cache; of f16’s memory, q8_0 takes 53 %, q5_1 38 %, q4_0 28 % (default: f16)',
    )
      .choices(CACHE_TYPES)
      .helpGroup('Model:'),
    new Option('--cache-type-k <type>', 'type of the keys (default: --cache-type)')
      .choices(CACHE_TYPES)
      .helpGroup('Model:'),
    new Option('--cache-type-v <type>', 'type of the values (default: --cache-type)')
      .choices(CACHE_TYPES)
      .helpGroup('Model:'),
    new Option(
      '--speculation <tokens>',
      'draft tokens per step by prompt lookup; does not change the text (default: 0)',
    )
      .argParser(wholeNumber(0))
      .helpGroup('Model:'),
    new Option('--weights <policy>', 'format of matrices on the device (default: blocks, as in the file)')
      .choices(WEIGHT_POLICIES)
      .helpGroup('Model:'),
    new Option('--decode <place>', 'where matrices are dequantized (default: device, if it can)')
      .choices(DECODE_PLACES)
      .helpGroup('Model:'),
    new Option(
      '--embedding <place>',
      'where embeddings are kept; host saves device memory (default: device; per-layer ones: the host of a GPU)',
    )
      .choices(EMBEDDING_PLACES)
      .helpGroup('Model:'),
    new Option(
      '--pooling <kind>',
      'embed or rank instead of generating: how the rows of a text are pooled (default: as the file says)',
    )
      .choices(['none', 'mean', 'cls', 'last', 'rank'])
      .helpGroup('Model:'),
    new Option('--load <mode>', 'when weights are loaded (default: background)')
      .choices(LOAD_MODES)
      .helpGroup('Model:'),
    new Option(
      '--allow-unread',
      'ignore tensors and settings of the file that its architecture does not use',
    ).helpGroup('Model:'),
    ...memoryOptions(),
    ...[adapterOptions(), controlVectorOptions(), hubOptions(), ropeOptions()].flat(),
  ];
}

/** Memory limits, and what to reduce. */
function memoryOptions(): Option[] {
  return [
    new Option(
      '--memory <size>',
      'memory limit, of each GPU if there are several, such as 6GiB; layers that do not fit are streamed',
    )
      .argParser(byteSize)
      .helpGroup('Model:'),
    new Option('--weight-memory <size>', 'device memory limit of the weights alone, such as 2.5GB')
      .argParser(byteSize)
      .helpGroup('Model:'),
    new Option(
      '--host-memory <size>',
      'maximum host memory to pin for experts and streamed layers, 0 for none (default: half of the available memory)',
    )
      .argParser((text) => (text.trim() === '0' ? 0 : byteSize(text)))
      .helpGroup('Model:'),
    new Option(
      '--shrink-context',
      'reduce the context instead of streaming layers if memory is short',
    ).helpGroup('Model:'),
    new Option(
      '--experts <place>',
      'where experts are kept: on the device; in the memory of the host, with copies of the most used ones on the device; or uploaded when they are chosen (default: device)',
    )
      .choices(EXPERT_PLACES)
      .helpGroup('Model:'),
    new Option(
      '--expert-slots <count>',
      'experts of each layer that are on the device with --experts host or stream (default: as many as fit)',
    )
      .argParser(wholeNumber(1))
      .helpGroup('Model:'),
    new Option(
      '--expert-prefetch <count>',
      'experts of a layer that are uploaded before they are chosen, while the layer before it runs (default: none)',
    )
      .argParser(wholeNumber(1))
      .helpGroup('Model:'),
    new Option(
      '--dequantized',
      'dequantized copies of matrices beside them, for faster prompts (default: on a large GPU whose memory they take a quarter of at most, or half of 64 GiB or more)',
    ).helpGroup('Model:'),
    new Option('--no-dequantized', 'no dequantized copies of matrices').helpGroup('Model:'),
    new Option('--pool', 'one allocation per layer instead of one per weight').helpGroup('Model:'),
  ];
}

/** The draft model, for commands that generate. */
export function draftOptions(): Option[] {
  return [
    new Option(
      '--draft <location>',
      'draft model: a smaller GGUF with the same vocabulary, an EAGLE-3 or DFlash drafter, a Gemma 4 assistant, or mtp for the model’s own block; does not change the text',
    ).conflicts('speculation'),
    new Option(
      '--draft-max <count>',
      'most draft tokens per step; fewer or none where they gain nothing (default: 4, with mtp 3, with DFlash 7; at least --draft-min)',
    ).argParser(wholeNumber(1)),
    new Option(
      '--draft-min <count>',
      'fewest draft tokens that are worth a step; otherwise there are none (default: 0)',
    ).argParser(wholeNumber(0)),
    new Option(
      '--draft-p-min <probability>',
      'a draft model proposes no token that it finds less probable (default: 0)',
    ).argParser(realNumber),
    new Option('--draft-device <name>', 'device of the draft model (default: the model’s)'),
  ].map((option) => option.helpGroup('Model:'));
}

/** The trace of loading, for commands that load one model. */
export function loadTraceOption(): Option {
  return new Option(
    '--load-trace <file>',
    'write a trace of loading for Perfetto or chrome://tracing',
  ).helpGroup('Model:');
}

/** The profile of steps, for commands that end with their work. */
export function profileOption(): Option {
  return new Option(
    '--profile [file]',
    'print where the time of the steps went; with a file, also write a trace for Perfetto',
  ).helpGroup('Model:');
}

/** The context size. */
export function contextOption(): Option {
  return new Option(
    '-c, --context <tokens>',
    'context size in tokens (default: the trained context, at most 4096)',
  )
    .argParser(wholeNumber(1))
    .helpGroup('Model:');
}

/** The device. */
export function deviceOptions(): Option[] {
  return [
    new Option(
      '-d, --device <name>',
      `one of ${DEVICE_NAMES.join(', ')}; hip:1 is the second of its kind (default: auto)`,
    ).helpGroup('Device:'),
    new Option('-t, --threads <count>', 'threads of the CPU device (default: the available physical cores)')
      .argParser(wholeNumber(1))
      .helpGroup('Device:'),
    new Option(
      '--cpu-kernels <kind>',
      'native kernels of the CPU device, from a package for this platform or a C++ compiler, or WebAssembly (default: auto, native if possible)',
    )
      .choices(CPU_KERNELS)
      .helpGroup('Device:'),
    new Option(
      '--gpus <which>',
      'split the model over several devices: all of the kind, so many of them, those with these indices: 0,2, or stages of layers: 2x4 are two of four devices each (default: 1)',
    )
      .argParser(gpusIn)
      .helpGroup('Device:'),
    new Option(
      '--link <how>',
      'what sums up what the GPUs of a split model have computed: their own kernels, which need peer access; NCCL or RCCL; or the host (default: auto, the first of these that is possible)',
    )
      .choices(LINK_CHOICES)
      .helpGroup('Device:'),
    new Option(
      '--gpu-layers <count>',
      'layers on the GPU, the output counting as the last one, beside the CPU, which computes the others: for a model too large for the GPU; auto for as many as fit (default: all)',
    )
      .argParser(gpuLayersIn)
      .helpGroup('Device:'),
    new Option(
      '--workers <list>',
      'processes that have the first layers, before those of --device, or a part of all (--worker-split), separated by commas: host:port of a `rocmforge worker`, or process, process=cuda:1 for one that is started here',
    )
      .argParser((text) => text.split(',').map((worker) => worker.trim()))
      .helpGroup('Device:'),
    new Option(
      '--worker-split <what>',
      'what --workers have: layers, or tensors, a part of every layer each, as the GPUs of --gpus do: one device a worker, which compute together by NCCL or RCCL (default: layers)',
    )
      .choices(WORKER_SPLITS)
      .helpGroup('Device:'),
    ...workerTermOptions().map((option) => option.helpGroup('Device:')),
  ];
}

/** What a worker and those who use it have in common. */
function workerTermOptions(): Option[] {
  return [
    new Option(
      '--worker-secret <text>',
      'what both sides of a connection with a worker have to know, 16 characters or more; others see a command line, so it is better in ROCMFORGE_WORKER_SECRET',
    ),
    new Option(
      '--worker-deadline <seconds>',
      'seconds after which the other side of such a connection counts as lost when it is silent (default: 30)',
    ).argParser(wholeNumber(1)),
  ];
}

/** Over which devices a model is split. */
export type GpuSplit = Partial<Pick<DeviceRequest, 'tensorParallel' | 'pipelineParallel'>>;

/** Parses which devices a model is split over. */
function gpusIn(text: string): GpuSplit {
  const given = text.trim();
  if (given === 'all') return { tensorParallel: given };
  if (/^\d+$/.test(given) && Number(given) > 0) return { tensorParallel: Number(given) };
  if (/^\d+(?:,\d+)+$/.test(given)) return { tensorParallel: given.split(',').map(Number) };
  const [, stages, ranks] = (/^(\d+)x(\d+)$/.exec(given) ?? []).map(Number);
  if (stages && ranks) return { pipelineParallel: stages, tensorParallel: ranks };
  const expected = 'all, a number of devices, indices such as 0,2, or stages of devices such as 2x4';
  throw new InvalidArgumentError(`Expected ${expected}.`);
}

/** Parses how many layers are on the GPU. */
function gpuLayersIn(text: string): GpuLayers {
  const given = text.trim();
  if (given === 'auto' || given === 'all') return given;
  if (/^\d+$/.test(given)) return Number(given);
  throw new InvalidArgumentError('Expected a number of layers, auto or all.');
}

/** Results for programs. */
export function jsonOption(): Option {
  return new Option('--json', 'print the result as JSON');
}

/** Parses an integer that is at least `least`, and at most `most`. */
export function wholeNumber(least: number, most = Number.MAX_SAFE_INTEGER): (text: string) => number {
  const range = most === Number.MAX_SAFE_INTEGER ? `, at least ${least}` : ` from ${least} to ${most}`;
  return (text) => {
    const value = Number(text);
    if (text.trim() !== '' && Number.isSafeInteger(value) && value >= least && value <= most) return value;
    throw new InvalidArgumentError(`Expected a whole number${range}.`);
  };
}

const SIZE_UNITS: Readonly<Record<string, number>> = {
  '': 1,
  kb: 1e3,
  mb: 1e6,
  gb: 1e9,
  kib: 2 ** 10,
  mib: 2 ** 20,
  gib: 2 ** 30,
};

/** Parses a number of bytes with an optional unit: `512MiB`, `6 GB`. */
export function byteSize(text: string): number {
  const [, digits, unit = ''] = /^([0-9.]+)\s*([a-z]*)$/i.exec(text.trim()) ?? [];
  const factor = SIZE_UNITS[unit.toLowerCase()];
  const bytes = Math.floor(Number(digits) * (factor ?? Number.NaN));
  if (Number.isSafeInteger(bytes) && bytes > 0) return bytes;
  throw new InvalidArgumentError('Expected a size such as 512MiB or 6GB.');
}

/** Parses a finite number. */
export function realNumber(text: string): number {
  const value = Number(text);
  if (text.trim() !== '' && Number.isFinite(value)) return value;
  throw new InvalidArgumentError('Expected a number.');
}

/** The options, by their attributes, that cannot be given together with one. */
export function conflictsOf(option: Option): readonly string[] {
  return (option as Option & { readonly conflictsWith: readonly string[] }).conflictsWith;
}

/** Options that are for another one, by their attributes. */
const NEEDS: Readonly<Record<string, string>> = {
  workerSplit: 'workers',
  workerSecret: 'workers',
  workerDeadline: 'workers',
  manageModels: 'models',
};

/**
 * Throws `INVALID_ARGUMENT` for an option of the command line that nothing reads because the one that it is for is missing. A setting,
 * which may be meant for other calls, is left out.
 */
export function checkNeeds(command: Command): void {
  const valueOf = (option: Option) => command.getOptionValue(option.attributeName()) as unknown;
  for (const option of command.options) {
    const name = option.attributeName();
    const needed = command.options.find((other) => other.attributeName() === NEEDS[name]);
    if (!needed || valueOf(option) === undefined || valueOf(needed) !== undefined) continue;
    if (command.getOptionValueSource(name) === 'cli') {
      const expected = `${needed.long ?? ''}, which it is for`;
      fail('INVALID_ARGUMENT', { name: option.long ?? name, found: `no ${needed.long ?? ''}`, expected });
    }
    command.setOptionValue(name, undefined);
  }
}

/** Options, by their attributes, that nothing reads, and why. */
export interface UnreadOptions {
  readonly names: ReadonlySet<string>;
  /** What is asked for instead of what would read them, and that. */
  readonly found: string;
  readonly expected: string;
}

/** Throws `INVALID_ARGUMENT` for an option of the command line that a command does not read as it is called. A setting is left out. */
export function refuseUnread(command: Command, unread: UnreadOptions | undefined): void {
  if (!unread) return;
  const { names, found, expected } = unread;
  for (const option of command.options) {
    const name = option.attributeName();
    if (!names.has(name) || command.getOptionValueSource(name) !== 'cli') continue;
    // An option and its `--no-` have one value.
    if (option.negate !== (command.getOptionValue(name) === false)) continue;
    fail('INVALID_ARGUMENT', { name: option.long ?? name, found, expected });
  }
}

/** Collects an option that may be repeated. */
export function repeated(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text];
}
