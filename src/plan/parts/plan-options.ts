import { fail } from '../../base/errors.ts';
import type { Device } from '../../device/index.ts';
import type { GgufFile } from '../../gguf/index.ts';
import type { DecodePlace } from '../../load/chunk.ts';
import { formatUnder, type WeightPolicy } from '../../formats/weight-policy.ts';
import { MAX_LOG_PROBABILITIES } from '../../ops/index.ts';
import { type Architecture, architectureOf } from '../../model/architecture.ts';
import { ConfigReader } from '../../model/config-reader.ts';
import { EMBEDDING_PLACES, EMBEDDING_TABLE, type EmbeddingPlace } from '../../model/embedding-place.ts';
import type { HostTable } from '../inputs/host-embedding.ts';
import { CACHE_TYPES, type CacheType } from '../../model/layer-states.ts';
import type { AdapterSet } from '../../model/lora/adapter-set.ts';
import type { ModelConfig } from '../../model/model-config.ts';
import type { TensorIndex } from '../../model/part-scope.ts';
import { recordModel } from '../../model/model-graphs.ts';
import {
  blocksFor,
  groupsWithin,
  KV_BLOCK_SIZE,
  type SizedGroup,
  type StateGroup,
} from '../../model/state-groups.ts';
import { windowBlocks, type WindowedGroupUse } from '../../state/windowed-group.ts';
import type { PlanSetup } from './plan-setup.ts';
import { tapGraphs } from '../taps/tap-graphs.ts';
import type { Taps } from '../taps/tap.ts';
import { UnreadCheck } from '../../model/unread/unread-check.ts';

/** Where a model comes from, and where it goes. */
export interface ModelSource {
  readonly gguf: GgufFile;
  readonly device: Device;
  readonly architectures: readonly Architecture[];
  /** Adapters that requests may choose from. @internal */
  readonly adapters?: AdapterSet | undefined;
  /** Tensors in place of the file's of the same names: matrices that adapters were added to. @internal */
  readonly merged?: TensorIndex | undefined;
}

/** What a model is compiled for. */
export interface PlanOptions {
  /** Positions that a sequence may have. Default: what the model was trained for, at most `DEFAULT_CONTEXT`. */
  readonly context?: number | undefined;
  /** Whether the context may become smaller, where all weights stay with a smaller one only. Default false. */
  readonly shrinkContext?: boolean | undefined;
  /** Prompt tokens of one step. Default 512, where deterministic 8. */
  readonly batch?: number | undefined;
  /**
   * Every step is computed by one plan, so that what a row gives does not depend on how many others there are: texts are the
   * same whatever else is in a batch, with speculation or without. Steps of few rows take longer. The CPU needs no such thing.
   * Default false.
   */
  readonly deterministic?: boolean | undefined;
  /** Positions of a step whose logits `evaluate` gets at once. Default 1: enough to generate. */
  readonly logitRows?: number | undefined;
  /** Sequences that run at once; more wait until a slot is free. Default 1. */
  readonly sequences?: number | undefined;
  /**
   * Most draft tokens of a sequence that are computed at once: proposed by a draft model where there is one, else from
   * what the text repeats. The text is the same and comes faster, the more of them are accepted. Recurrent models keep a checkpoint of each sequence for it. Default 0, with a draft 4.
   */
  readonly speculation?: number | undefined;
  /** Positions that the KV cache holds for all sequences together. Default: the context for each of them. */
  readonly cachePositions?: number | undefined;
  /** Steps under way at once: the next is queued before the tokens of the last are read. Default 2. */
  readonly inFlight?: number | undefined;
  /** Whole steps that stay recorded, those used last; 0 records every step anew. Default 32. */
  readonly preparedSteps?: number | undefined;
  /** How the KV cache is stored. Default f16; q8_0 takes 53 % of that, for models whose heads are multiples of 32 elements. */
  readonly cacheType?: CacheType | undefined;
  /** What matrices become on the device. Default `blocks`: they stay as in the file. */
  readonly weights?: WeightPolicy | undefined;
  /**
   * Where the embedding is. `host`: in the host's memory, for a vocabulary too large for the device; the rows of each step are
   * decoded there and uploaded, and what a sequence says is read back before its next step. Default `device`.
   */
  readonly embedding?: EmbeddingPlace | undefined;
  /** Handlers that see values while steps run, and may replace them; steps then wait for the host at each of them. */
  readonly taps?: Taps | undefined;
  /** One buffer for the weights of a layer instead of one for each. Default false. */
  readonly pool?: boolean | undefined;
  /**
   * Whether a file may be run that holds more than its architecture computes with, as if it did not: tensors and switches that
   * would be refused are warned of. Default false.
   */
  readonly allowUnread?: boolean | undefined;
  /** Where matrices that do not stay as in the file are decoded. Default: on the device, where it can. */
  readonly decode?: DecodePlace | undefined;
}

/** Positions that a sequence may have unless asked otherwise. */
export const DEFAULT_CONTEXT = 4096;
const DEFAULT_BATCH = 512;
/** Of one plan for everything: a step of one row costs what one of so many does. */
const DETERMINISTIC_BATCH = 8;
const DEFAULT_IN_FLIGHT = 2;
const MAX_SPECULATION = 64;

/** What the metadata and the options say about a model. */
export interface ModelDescription {
  readonly config: ModelConfig;
  readonly setup: PlanSetup;
  /** What of the file nothing is computed with, known when a part was recorded. */
  readonly unread: UnreadCheck;
}

/**
 * Reads the metadata. Throws `INVALID_ARGUMENT`, `ARCHITECTURE_UNKNOWN` or `MODEL_CONFIG`; tensors are looked at when a shape is
 * recorded, which throws `MODEL_TENSOR_…` and `MODEL_UNREAD`.
 */
export function describeModel(source: ModelSource, options: PlanOptions): ModelDescription {
  checkCounts(options);
  checkChoice('cacheType', options.cacheType, CACHE_TYPES);
  checkChoice('embedding', options.embedding, EMBEDDING_PLACES);
  const { gguf, device } = source;
  const { metadata } = gguf;
  const architecture = architectureOf(metadata, source.architectures);
  const read = new ConfigReader(metadata, metadata.string('general.architecture') ?? '');
  const config = architecture.configure(read);
  const unread = new UnreadCheck({ gguf, read, config, allowed: options.allowUnread ?? false });
  const context = options.context ?? Math.min(config.trainedContext, DEFAULT_CONTEXT);
  checkContext(context, config);
  const slots = options.sequences ?? 1;
  // An encoder sees a text as a whole, and all its rows are wanted.
  const usual = options.deterministic ? DETERMINISTIC_BATCH : DEFAULT_BATCH;
  const batch = config.pooling ? context : (options.batch ?? usual);
  const speculation = config.pooling ? 0 : (options.speculation ?? 0);
  const generating = slots * (1 + speculation);
  const rows = Math.min(Math.max(batch, generating), context * slots);
  const outputs = config.pooling ? rows : Math.min(Math.max(generating, options.logitRows ?? 1), rows);
  const { adapters } = source;
  const own = gguf.tensors.map((tensor) => [tensor.name, tensor] as const);
  const tensors = new Map([...own, ...(source.merged ?? []), ...(adapters?.tensors ?? [])]);
  const groups = sizedGroups(config, options, { rows, slots, context, drafts: speculation });
  const checkpoints = speculation > 0 && groups.some(({ kind }) => kind === 'slots');
  const graphOptions = {
    groups,
    cacheType: options.cacheType ?? 'f16',
    tokens: outputs,
    context,
    alternatives: MAX_LOG_PROBABILITIES,
    weights: options.weights ?? 'blocks',
    embedding: options.embedding,
    adapters: adapters && { count: adapters.names.length, perRow: adapters.perRow },
  } as const;
  const setup: PlanSetup = {
    device,
    tensors,
    record: (shape) => {
      const graphs = recordModel(config, tensors, { ...graphOptions, shape });
      unread.check(graphs);
      return options.taps ? tapGraphs(graphs, [...options.taps.keys()]) : graphs;
    },
    hostEmbedding: options.embedding === 'host' ? hostTable(tensors, config, options) : undefined,
    taps: options.taps,
    shape: { rows, outputs, slots, blocksPerSlot: groups.some(hasTable) ? blocksFor(context) : 1 },
    state: { groups, slots, context, checkpoints },
    deterministic: options.deterministic,
    decode: options.decode,
    inFlight: options.inFlight ?? DEFAULT_IN_FLIGHT,
    preparedSteps: options.preparedSteps,
    context,
    poolWeights: options.pool,
    adaptersARow: adapters?.perRow ?? 0,
  };
  return { config, setup, unread };
}

function hasTable({ kind }: StateGroup): boolean {
  return kind !== 'slots';
}

/** The groups of a model's state, and how many blocks each of them has. */
function sizedGroups(
  { state }: ModelConfig,
  options: PlanOptions,
  of: Omit<WindowedGroupUse, 'window'>,
): SizedGroup[] {
  const { slots, context } = of;
  // Blocks are not shared out by positions: the last one of each sequence may be nearly empty.
  const { cachePositions = slots * blocksFor(context) * KV_BLOCK_SIZE } = options;
  const paged = Math.max(blocksFor(context), blocksFor(cachePositions));
  return groupsWithin(state, context).map((group) => {
    if (group.kind === 'windowed') return { ...group, blocks: windowBlocks({ ...of, window: group.window }) };
    return { ...group, blocks: group.kind === 'paged' ? paged : 0 };
  });
}

/** Whether the host decodes blocks for a model: what its workers are for. */
export function decodesOnHost({ weights = 'blocks', embedding }: PlanOptions): boolean {
  return weights !== 'blocks' || embedding === 'host';
}

/** The embedding of a file; undefined where it has none, which recording refuses. */
function hostTable(
  tensors: TensorIndex,
  { width }: ModelConfig,
  { weights = 'blocks' }: PlanOptions,
): HostTable | undefined {
  const tensor = tensors.get(EMBEDDING_TABLE);
  if (!tensor) return undefined;
  const rows = tensor.elementCount / width;
  return { tensor, rows, width, format: formatUnder(weights, tensor.format, rows) };
}

function checkChoice<T extends string>(name: string, found: T | undefined, choices: readonly T[]): void {
  if (found === undefined || choices.includes(found)) return;
  fail('INVALID_ARGUMENT', { name, found: String(found), expected: choices.join(', ') });
}

const COUNTS = ['context', 'batch', 'logitRows', 'sequences', 'cachePositions', 'inFlight'] as const;

function checkContext(context: number, { maxContext = Number.POSITIVE_INFINITY }: ModelConfig): void {
  if (context <= maxContext) return;
  const expected = `at most ${maxContext}: beyond that the model computes what is not computed here`;
  fail('INVALID_ARGUMENT', { name: 'context', found: `${context}`, expected });
}

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
