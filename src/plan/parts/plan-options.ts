import { fail } from '../../base/errors.ts';
import { checkOptions } from '../../base/options.ts';
import { type Device, totalOf } from '../../device/index.ts';
import { F16 } from '../../formats/index.ts';
import type { GgufFile } from '../../gguf/index.ts';
import type { DecodePlace } from '../../load/chunk.ts';
import { formatUnder, type WeightPolicy } from '../../formats/weight-policy.ts';
import { isBlockType, MAX_LOG_PROBABILITIES } from '../../ops/index.ts';
import { type Architecture, architectureOf } from '../../model/architecture.ts';
import { ConfigReader } from '../../model/config-reader.ts';
import {
  EMBEDDING_PLACES,
  EMBEDDING_TABLE,
  type EmbeddingPlace,
  type EmbeddingPlaces,
  HOST_LAYER_ROWS,
  HOST_ROWS,
  PER_LAYER_TABLE,
} from '../../model/embedding-place.ts';
import type { HostTable } from '../inputs/host-embedding.ts';
import { EXPERT_PLACES, type ExpertPlace } from '../../model/expert-place.ts';
import { expertPieces, type ExpertSlots } from '../experts/expert-pieces.ts';
import { hotGraphs } from '../experts/hot-graphs.ts';
import {
  CACHE_TYPES,
  type CacheType,
  DEFAULT_CACHE_TYPE,
  type CacheTypes,
  cacheTypes,
} from '../../model/layer-states.ts';
import type { AdapterSet } from '../../model/lora/adapter-set.ts';
import { type ControlVectors, controlTensors } from '../../model/control-vectors.ts';
import type { Drafter } from '../../model/drafter.ts';
import {
  type BlockPredictor,
  groupsWithPredictor,
  hasPredictor,
  type ModelConfig,
} from '../../model/model-config.ts';
import { type Pooling, POOLINGS } from '../../model/pooling.ts';
import type { TensorIndex } from '../../model/part-scope.ts';
import { checkRopeOverrides, requireRope, type RopeOverrides } from '../../model/rope-overrides.ts';
import {
  mapParts,
  type ModelGraphs,
  type ModelPart,
  partsOf,
  recordModel,
} from '../../model/model-graphs.ts';
import {
  blocksFor,
  groupsWithin,
  KV_BLOCK_SIZE,
  type SizedGroup,
  type StateGroup,
} from '../../model/state-groups.ts';
import { windowBlocks, type WindowedGroupUse } from '../../state/windowed-group.ts';
import { splitModel } from '../ranks/split-model.ts';
import { evenStarts, stageGraphs } from '../ranks/stage-graphs.ts';
import type { PlanSetup } from './plan-setup.ts';
import { tapGraphs } from '../taps/tap-graphs.ts';
import type { Taps } from '../taps/tap.ts';
import { UnreadCheck } from '../../model/unread/unread-check.ts';

/** A model's file, its device and its architectures. */
export interface ModelSource {
  readonly gguf: GgufFile;
  readonly device: Device;
  readonly architectures: readonly Architecture[];
  /** Adapters that requests can select. @internal */
  readonly adapters?: AdapterSet | undefined;
  /** A drafter that reads what the model's layers compute. @internal */
  readonly drafter?: Drafter | undefined;
  /** Tensors that replace the file's of the same names: matrices with merged adapters. @internal */
  readonly merged?: TensorIndex | undefined;
  /** What is added to the residual stream of every request. @internal */
  readonly control?: ControlVectors | undefined;
}

/** Options that a model is compiled with. */
export interface PlanOptions {
  /** Maximum positions of a sequence. Default: the trained context, at most `DEFAULT_CONTEXT`. */
  readonly context?: number | undefined;
  /** Whether the context may be reduced if that lets all weights stay resident. Default false. */
  readonly shrinkContext?: boolean | undefined;
  /**
   * Prompt tokens per step. Default 512, or 8 if deterministic; on large GPUs 2048, if all weights are resident with that.
   */
  readonly batch?: number | undefined;
  /**
   * Every step is computed by a single plan, so that a row's result does not depend on the number of other rows: texts
   * are the same whatever else is in the batch, with or without speculation. Steps with few rows take longer.
   * Unnecessary on the CPU. Default false.
   */
  readonly deterministic?: boolean | undefined;
  /** Positions of a step whose logits `evaluate` gets at once. Default 1, which is enough to generate. */
  readonly logitRows?: number | undefined;
  /** Sequences that run at once; others wait for a free slot. Default 1. */
  readonly sequences?: number | undefined;
  /**
   * Maximum draft tokens per sequence and step: from a draft model if there is one, otherwise by prompt lookup. The
   * text does not change, and comes faster the more of them are accepted; how many there are follows acceptance and
   * load, down to none. Recurrent models keep a checkpoint per sequence for this. Default 0, or 4 with a draft model.
   */
  readonly speculation?: number | undefined;
  /**
   * Whether draft tokens come from the block of the model's own file that predicts further tokens (multi-token
   * prediction). Default false.
   */
  readonly predictor?: boolean | undefined;
  /** Positions of the KV cache, for all sequences together. Default: a full context for each of them. */
  readonly cachePositions?: number | undefined;
  /** Steps in flight: the next is queued before the tokens of the previous one are read. Default 2. */
  readonly inFlight?: number | undefined;
  /**
   * Number of whole steps that stay recorded, least recently used evicted first; 0 records every step again. Default
   * 32.
   */
  readonly preparedSteps?: number | undefined;
  /**
   * Type of the KV cache, or of its keys and of its values. Default f16; of that, q8_0 takes 53 %, q5_1 38 % and q4_0
   * 28 %, for models whose head size is a multiple of 32. Two types are possible if one of them is one of these.
   */
  readonly cacheType?: CacheType | CacheTypes | undefined;
  /** Format of matrices on the device. Default `blocks`: that of the file. */
  readonly weights?: WeightPolicy | undefined;
  /**
   * Whether quantized matrices have dequantized copies in f16 beside them on a HIP or CUDA device, for steps of 128 rows or more (512 on Hopper): 16 bits
   * more a weight. Default: if they take at most a quarter of a large GPU's memory, or half of 64 GiB or more, the model fits with them, and shares no memory.
   */
  readonly dequantized?: boolean | undefined;
  /**
   * Where the embedding is. `host` saves device memory for large vocabularies: the rows of each step are decoded on the
   * host and uploaded, and each sequence's token is read back before its next step. Default `device`, but the values
   * for all layers (Gemma 3n, Gemma 4's E models), whose table is larger than the rest of the model, stay on the host of
   * a GPU.
   */
  readonly embedding?: EmbeddingPlace | undefined;
  /**
   * Where the experts of a mixture are, for models larger than the device. `host` has all of them in pinned memory of the host,
   * which kernels of HIP and CUDA devices read, and copies of as many of each layer on the device as fit, those that are used most.
   * `stream` keeps only these, and uploads others when a row chooses them: each step then waits for the host in each layer. Default
   * `device`, which on a device without memory of its own is the same as `host`.
   */
  readonly experts?: ExpertPlace | undefined;
  /**
   * Layers on the GPU of a pipeline of the CPU and a GPU, for a model that is too large for the GPU: the last ones, behind which the
   * output counts as one (llama.cpp's `-ngl`), as it does there. The others are computed by the CPU. `all`, or more than there are, has
   * the whole model on the GPU, 0 on the CPU, and `auto` as many as fit. Default: as many bytes on each stage,
   * or what fits where that is less.
   */
  readonly gpuLayers?: GpuLayers | undefined;
  /** Experts of each layer that have memory on the device if not all do. Default: as many as fit. */
  readonly expertSlots?: number | undefined;
  /**
   * Most experts of a layer that are loaded while the layer before it is computed, if they are streamed: those that its router chooses
   * for what the router before it reads. Steps of few rows only; the tokens are the same. Default: none.
   */
  readonly expertPrefetch?: number | undefined;
  /**
   * The pooling of embeddings instead of the file's; a decoder then embeds instead of generating, and a model with a
   * classifier ranks with `rank`. Default: the file's.
   */
  readonly pooling?: Pooling | undefined;
  /** What replaces the file's settings of its RoPE, for longer contexts. Default: nothing. */
  readonly rope?: RopeOverrides | undefined;
  /** Handlers that see values while steps run, and may replace them; steps then wait for the host at each of them. */
  readonly taps?: Taps | undefined;
  /** One buffer for all weights of a layer instead of one each. Default false. */
  readonly pool?: boolean | undefined;
  /**
   * Whether to run a file with tensors or settings that its architecture does not use, ignoring them with a warning
   * instead of refusing. Default false.
   */
  readonly allowUnread?: boolean | undefined;
  /** Where matrices that do not keep the file's format are decoded. Default: on the device, if it can. */
  readonly decode?: DecodePlace | undefined;
}

/** The options of a model on the stages of a pipeline, once its layers are dealt out to them. */
export interface DealtOptions extends PlanOptions {
  /** The first layer of each stage. Default: as `gpuLayers` says. */
  readonly starts?: readonly number[] | undefined;
}

/** How many layers are on the GPU, beside the CPU. */
export type GpuLayers = number | 'auto' | 'all';

/** Default maximum for the context, in positions. */
export const DEFAULT_CONTEXT = 4096;
/** The batch of all but large GPUs, which need more rows to be busy. */
export const DEFAULT_BATCH = 512;
/** The batch of a deterministic plan: a step with one row costs as much as one with so many. */
const DETERMINISTIC_BATCH = 8;
const DEFAULT_IN_FLIGHT = 2;
const MAX_SPECULATION = 64;

/** What metadata and options say about a model. */
export interface ModelDescription {
  readonly config: ModelConfig;
  readonly setup: PlanSetup;
  /** The check for unread tensors and settings, complete once a part was recorded. */
  readonly unread: UnreadCheck;
}

/**
 * Reads the metadata. Throws `INVALID_ARGUMENT`, `ARCHITECTURE_UNKNOWN` or `MODEL_CONFIG`; tensors are checked when a
 * shape is recorded, which throws `MODEL_TENSOR_…` and `MODEL_UNREAD`.
 */
export function describeModel(source: ModelSource, options: DealtOptions): ModelDescription {
  checkCounts(options);
  checkCacheType(options.cacheType);
  checkGpuLayers(source.device, options.gpuLayers);
  checkChoice('embedding', options.embedding, EMBEDDING_PLACES);
  const experts = expertsOf(source, options);
  const { gguf, device } = source;
  const { read, config } = configure(source, options);
  const { adapters, drafter } = source;
  const unread = new UnreadCheck({ gguf, read, config, drafter, allowed: options.allowUnread ?? false });
  const { context, slots, speculation, rows, outputs } = sizesOf(device, config, options);
  const tensors = tensorsOf(source, config);
  const predicts = speculation > 0 && options.predictor === true;
  if (predicts) checkPredictor(gguf, config, options);
  const groups = sizedGroups(config, options, { rows, slots, context, drafts: speculation });
  const checkpoints = speculation > 0 && groups.some(({ kind }) => kind === 'slots');
  const embedding = placesOf(device, options.embedding);
  const dequantized = isDequantized(source, options, rows);
  const graphOptions = {
    groups,
    cacheType: options.cacheType ?? DEFAULT_CACHE_TYPE,
    tokens: outputs,
    context,
    alternatives: config.pooling ? 0 : MAX_LOG_PROBABILITIES,
    weights: options.weights ?? 'blocks',
    embedding,
    predicts,
    dequantized,
    adapters: adapters && { count: adapters.count, perRow: adapters.perRow },
  } as const;
  const setup: PlanSetup = {
    device,
    tensors,
    record: (shape) => {
      const graphs = recordModel(config, tensors, { ...graphOptions, shape });
      unread.check(graphs);
      return inPieces(graphs, source, { ...options, at: experts });
    },
    experts: experts.streamed,
    hotExperts: experts.copies !== undefined,
    hostTables: hostTables(tensors, config, { places: embedding, weights: options.weights }),
    taps: options.taps,
    shape: { rows, outputs, slots, blocksPerSlot: groups.some(hasTable) ? blocksFor(context) : 1 },
    state: { groups, slots, context, checkpoints },
    deterministic: options.deterministic,
    decode: options.decode,
    inFlight: options.inFlight ?? DEFAULT_IN_FLIGHT,
    ...(predicts && draftSteps(config, speculation)),
    preparedSteps: options.preparedSteps,
    context,
    dequantized,
    poolWeights: options.pool,
    adaptersARow: adapters?.perRow ?? 0,
  };
  return { config, setup, unread };
}

/** The sizes of steps and of the sequences in them. */
function sizesOf(device: Device, config: ModelConfig, options: PlanOptions) {
  const context = options.context ?? Math.min(config.trainedContext, DEFAULT_CONTEXT);
  const slots = options.sequences ?? 1;
  // An encoder computes a whole text at once.
  const usual = options.deterministic ? DETERMINISTIC_BATCH : (device.promptRows ?? DEFAULT_BATCH);
  const batch = config.bidirectional ? context : (options.batch ?? usual);
  const speculation = config.pooling ? 0 : (options.speculation ?? 0);
  const generating = slots * (1 + speculation);
  const rows = Math.min(Math.max(batch, generating), context * slots);
  const outputs = config.pooling ? rows : Math.min(Math.max(generating, options.logitRows ?? 1), rows);
  return { context, slots, speculation, rows, outputs };
}

/** Whether weights have dequantized copies: if some step is faster for them, and either they are wanted or there is memory to spare. */
function isDequantized({ gguf, device }: ModelSource, options: PlanOptions, rows: number): boolean {
  const { dequantized: wanted, weights = 'blocks', experts = 'device' } = options;
  const { dequantized: facts } = device;
  if (!facts || rows < facts.minRows || weights !== 'blocks') return false;
  if (wanted !== undefined || experts !== 'device') return wanted ?? false;
  const matrices = gguf.tensors.filter(({ shape, format }) => shape.length === 2 && format.blockElements > 1);
  return totalOf(matrices.map(({ elementCount }) => F16.blockBytes * elementCount)) <= facts.maxBytes;
}

/** The file's tensors, and those of merged matrices, control vectors, adapters and a drafter. */
function tensorsOf(
  { gguf, merged, control, adapters, drafter }: ModelSource,
  config: ModelConfig,
): TensorIndex {
  const own = gguf.tensors.map((tensor) => [tensor.name, tensor] as const);
  const added = control ? controlTensors(control, config) : [];
  const others = [...(adapters?.tensors ?? []), ...(drafter?.tensors ?? [])];
  return new Map([...own, ...(merged ?? []), ...added, ...others]);
}

/** The model's configuration, with the requested pooling and RoPE. */
function configure(
  { gguf: { metadata }, architectures, drafter }: ModelSource,
  { pooling, rope }: PlanOptions,
): { read: ConfigReader; config: ModelConfig } {
  checkChoice('pooling', pooling, POOLINGS);
  checkRopeOverrides(rope);
  const architecture = architectureOf(metadata, architectures);
  const read = new ConfigReader(metadata, metadata.string('general.architecture') ?? '', {
    pooling,
    rope,
  });
  const own = architecture.configure(read);
  const config = drafter ? { ...own, predictor: drafter.predictor } : own;
  if (pooling && config.pooling !== pooling) {
    const expected = `none for ${config.architecture}, which only generates`;
    fail('INVALID_ARGUMENT', { name: 'pooling', found: pooling, expected });
  }
  requireRope(config, rope);
  return { read, config };
}

/** Throws `DRAFT_UNSUPPORTED` if the model has no predictor, or one that cannot run with these options. */
function checkPredictor(gguf: GgufFile, config: ModelConfig, { embedding, taps }: PlanOptions): void {
  const refuse = (found: string, expected: string) =>
    fail('DRAFT_UNSUPPORTED', { model: gguf.name, found, expected });
  if (!hasPredictor(config)) {
    const { architecture } = config;
    const isThere = (gguf.metadata.number(`${architecture}.nextn_predict_layers`) ?? 0) > 0;
    if (isThere)
      refuse(
        `a block that predicts further tokens, which is not computed for ${architecture}`,
        'another draft',
      );
    refuse(`no block that predicts further tokens (${architecture})`, 'a file with nextn_predict_layers');
  } else if (config.predictor.kind === 'block' && !hasBlock(gguf, config.predictor)) {
    refuse('no tensors of the block that predicts further tokens', 'a file that was converted with it');
  }
  if (embedding === 'host') refuse('the embedding on the host', 'the embedding on the device');
  if (taps) refuse('taps', 'a model without taps');
}

/** Throws `INVALID_ARGUMENT` for what a group of devices does not do, with what does it. */
function checkRanks({ device, adapters }: ModelSource, { experts, taps, predictor }: PlanOptions): void {
  const refused = [
    ...(adapters ? ['for adapters one device, stages of one each (2x1), or mergeAdapters'] : []),
    ...(taps
      ? [
          'for taps, which collect activations (as for an importance matrix), one device or stages of one each (2x1)',
        ]
      : []),
    ...(experts === 'stream' || experts === 'host' ? [`for experts: '${experts}' one device`] : []),
    ...(predictor ? ['for the predictor one device'] : []),
  ];
  if (refused.length === 0) return;
  const expected = refused.join('; ');
  fail('INVALID_ARGUMENT', { name: 'tensorParallel', found: String(device.group?.ranks), expected });
}

/** Steps of the model's predictor alone that may follow one step: masks are filled by one, further tokens by one each. */
function draftSteps(
  { predictor }: ModelConfig,
  speculation: number,
): Pick<PlanSetup, 'chained' | 'draftMask' | 'attendsFromEnd'> {
  if (predictor?.kind === 'masks') return { chained: 1, draftMask: predictor.mask };
  return { chained: speculation - 1, ...(predictor?.kind === 'caches' && { attendsFromEnd: true }) };
}

/** Whether the file has the block's tensors. */
function hasBlock({ tensors }: GgufFile, { index }: BlockPredictor): boolean {
  return tensors.some(({ name }) => name.startsWith(`blk.${index}.nextn.`));
}

function hasTable({ kind }: StateGroup): boolean {
  return kind !== 'slots';
}

/** The groups of a model's state, with their numbers of blocks. */
function sizedGroups(
  config: ModelConfig,
  options: PlanOptions,
  of: Omit<WindowedGroupUse, 'window'>,
): SizedGroup[] {
  const { slots, context } = of;
  // A number of positions does not determine the number of blocks: the last block of each sequence may be nearly empty.
  const { cachePositions = slots * blocksFor(context) * KV_BLOCK_SIZE } = options;
  const paged = Math.max(blocksFor(context), blocksFor(cachePositions));
  const all = options.predictor ? groupsWithPredictor(config) : config.state;
  return groupsWithin(all, context).map((group) => {
    if (group.kind === 'windowed') return { ...group, blocks: windowBlocks({ ...of, window: group.window }) };
    return { ...group, blocks: group.kind === 'paged' ? paged : 0 };
  });
}

/** Whether the host decodes weights for a model, which requires decoding workers. */
export function decodesOnHost({ weights = 'blocks', embedding }: PlanOptions, gguf: GgufFile): boolean {
  const isPerLayer = ({ name }: { readonly name: string }) => name === PER_LAYER_TABLE;
  return weights !== 'blocks' || embedding === 'host' || (!embedding && gguf.tensors.some(isPerLayer));
}

/** Where the embeddings are: a device whose memory is the host's has them all. */
function placesOf(device: Device, embedding: EmbeddingPlace | undefined): EmbeddingPlaces {
  const isHost = device.memoryRules.pinnedInside('inputs');
  return { tokens: embedding ?? 'device', perLayer: embedding ?? (isHost ? 'device' : 'host') };
}

/** The embeddings of a file that stay on the host; recording refuses those that are missing. */
function hostTables(
  tensors: TensorIndex,
  { width, embedding: { perLayer } }: ModelConfig,
  {
    places,
    weights = 'blocks',
  }: { readonly places: EmbeddingPlaces; readonly weights?: WeightPolicy | undefined },
): HostTable[] {
  const table = (name: string, columns: number): HostTable[] => {
    const tensor = tensors.get(name);
    if (!tensor) return [];
    const rows = tensor.elementCount / columns;
    const takesVectors = name === EMBEDDING_TABLE;
    const input = takesVectors ? HOST_ROWS : HOST_LAYER_ROWS;
    const format = formatUnder(weights, tensor.format, rows);
    return [{ input, takesVectors, tensor, rows, width: columns, format }];
  };
  return [
    ...(places.tokens === 'host' ? table(EMBEDDING_TABLE, width) : []),
    ...(perLayer && places.perLayer === 'host'
      ? table(PER_LAYER_TABLE, perLayer.layers * perLayer.width)
      : []),
  ];
}

/** Where experts are, unless they are on the device. */
interface ExpertsElsewhere {
  /** If they are streamed. */
  readonly streamed?: ExpertSlots;
  /** If they are in the host's memory: of how many of each layer there are copies at most. */
  readonly copies?: number;
}

/** Throws `INVALID_ARGUMENT` for a place that the device cannot read, and for options of another place. */
function expertsOf({ device }: ModelSource, options: PlanOptions): ExpertsElsewhere {
  const { experts, expertSlots, expertPrefetch, taps } = options;
  checkChoice('experts', experts, EXPERT_PLACES);
  const refuse = (name: string, found: unknown, expected: string): never =>
    fail('INVALID_ARGUMENT', { name, found: String(found), expected });
  const slots = expertSlots ?? Number.POSITIVE_INFINITY;
  if (experts === 'stream') {
    if (taps) refuse('taps', 'given', "experts: 'device'");
    return { streamed: { slots, prefetch: expertPrefetch ?? 0 } };
  }
  if (expertPrefetch !== undefined) refuse('expertPrefetch', expertPrefetch, "experts: 'stream'");
  if (experts === 'host' && device.createHostBuffer) return { copies: slots };
  // A group refuses it with its other refusals.
  if (experts === 'host' && !device.group && !device.stages && !device.memoryRules.pinnedInside('inputs')) {
    refuse('experts', 'host', `stream: kernels of ${device.info.backend} read no memory of the host`);
  }
  if (expertSlots === undefined) return {};
  return refuse(
    'expertSlots',
    expertSlots,
    "experts: 'stream', or 'host' on a device with memory of its own",
  );
}

/** The graphs, split over a group's devices, cut where the host takes part in a step, or with experts in its memory. */
function inPieces(
  graphs: ModelGraphs,
  source: ModelSource,
  { at, taps, ...options }: DealtOptions & { readonly at: ExpertsElsewhere },
): ModelGraphs {
  const { group, stages } = source.device;
  if (group) checkRanks(source, { ...options, taps });
  if (stages) return onStages(graphs, source, { ...options, taps });
  if (group) return splitModel(graphs, { ...group, exact: options.deterministic });
  if (at.streamed) return expertPieces(graphs, at.streamed);
  const hasExperts = graphs.layers.some(({ graph }) => graph.ops.some(({ kind }) => kind === 'routeExperts'));
  if (options.experts === 'host' && !hasExperts) {
    fail('INVALID_ARGUMENT', { name: 'experts', found: 'host', expected: 'a model with experts' });
  }
  const placed = at.copies === undefined ? graphs : hotGraphs(graphs, at.copies);
  return taps ? tapGraphs(placed, [...taps.keys()]) : placed;
}

/** The graphs for a pipeline, with those of a stage that is a group split over it. */
function onStages(
  graphs: ModelGraphs,
  { device }: ModelSource,
  { taps, experts, gpuLayers, starts, deterministic: exact }: DealtOptions,
): ModelGraphs {
  const { group, stages = [] } = device;
  if (experts === 'stream' || experts === 'host') {
    const expected = 'device: experts are on the stage of their layer';
    fail('INVALID_ARGUMENT', { name: 'experts', found: experts, expected });
  }
  const whole = taps ? tapGraphs(graphs, [...taps.keys()]) : graphs;
  const layers = whole.layers.at(-1)?.order ?? 0;
  const isCut = typeof gpuLayers === 'number';
  // The output counts as one of the GPU's layers.
  const from = isCut ? [0, layers + 1 - gpuLayers] : (starts ?? evenStarts(whole, stages.length));
  const placed = stageGraphs(whole, from);
  if (!group) return placed;
  const split = partsOf(stageGraphs(splitModel(whole, { ...group, exact }), from));
  const own = new Map(partsOf(placed).map((part, index) => [part, split[index] as ModelPart]));
  return mapParts(placed, (part) => {
    return stages[part.graph.stage ?? 0]?.group ? (own.get(part) as ModelPart) : part;
  });
}

/**
 * Throws `INVALID_ARGUMENT` for a number of layers that is none, or that the device cannot put beside others: 0 is for the CPU alone,
 * `auto` also for the CPU of a machine without a GPU.
 */
function checkGpuLayers({ stages, info }: Device, found: GpuLayers | undefined): void {
  if (found === undefined || found === 'all') return;
  const refuse = (expected: string) =>
    fail('INVALID_ARGUMENT', { name: 'gpuLayers', found: String(found), expected });
  if (found !== 'auto' && !(Number.isSafeInteger(found) && found >= 0)) refuse('a whole number, auto or all');
  if (stages && stages.length > 2) refuse(`none on a pipeline of ${stages.length} stages`);
  if (!stages && !((found === 0 || found === 'auto') && info.backend === 'cpu')) {
    refuse(`a pipeline of the CPU and a GPU, as openDevice opens it, instead of ${info.backend} alone`);
  }
}

/** A type for both keys and values, or one for each. */
function checkCacheType(found: PlanOptions['cacheType']): void {
  if (found === undefined) return;
  if (typeof found === 'object') checkOptions('cacheType', found, { keys: true, values: true });
  const { keys, values } = cacheTypes(found);
  checkChoice('cacheType', keys ?? 'nothing', CACHE_TYPES);
  checkChoice('cacheType', values ?? 'nothing', CACHE_TYPES);
  if (keys === values || isBlockType(keys) || isBlockType(values)) return;
  const expected = 'one type for both, or blocks (q8_0, q5_1, q4_0) for one of them';
  fail('INVALID_ARGUMENT', { name: 'cacheType', found: `${keys} keys and ${values} values`, expected });
}

function checkChoice<T extends string>(name: string, found: T | undefined, choices: readonly T[]): void {
  if (found === undefined || choices.includes(found)) return;
  fail('INVALID_ARGUMENT', { name, found: String(found), expected: choices.join(', ') });
}

const COUNTS = [
  'context',
  'batch',
  'logitRows',
  'sequences',
  'cachePositions',
  'inFlight',
  'expertSlots',
  'expertPrefetch',
] as const;

function checkCounts(options: PlanOptions): void {
  for (const name of COUNTS) {
    const count = options[name];
    if (count === undefined || (Number.isSafeInteger(count) && count > 0)) continue;
    fail('INVALID_ARGUMENT', { name, found: String(count), expected: 'a positive whole number' });
  }
  const { speculation = 0 } = options;
  if (Number.isSafeInteger(speculation) && speculation >= 0 && speculation <= MAX_SPECULATION) return;
  const expected = `a whole number up to ${MAX_SPECULATION}`;
  fail('INVALID_ARGUMENT', { name: 'speculation', found: String(speculation), expected });
}
