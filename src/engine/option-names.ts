import { checkOptions, type OptionNames } from '../base/options.ts';
import {
  BYTES,
  checkValues,
  COUNT,
  FINITE,
  FLAG,
  FUNCTION,
  IDS,
  mapOf,
  objectWith,
  oneOf,
  SHARE,
  SIGNAL,
  TEXT,
  TEXTS,
  type ValueKinds,
  WRITTEN_TEXTS,
} from '../base/option-values.ts';
import { WEIGHT_POLICIES } from '../formats/weight-policy.ts';
import { DECODE_PLACES } from '../load/chunk.ts';
import { DEFAULT_HOST_SAMPLING, DEFAULT_SAMPLING } from '../ops/index.ts';
import type { PlanOptions } from '../plan/parts/plan-options.ts';
import type { ChatRenderOptions, DecodeOptions, EncodeOptions, ReasoningOptions } from '../text/index.ts';
import type { EmbedOptions } from './embedding.ts';
import type { RerankOptions } from './ranking.ts';
import type { ScoreOptions } from './score.ts';
import type { SchedulingClass } from '../scheduler/fair-shares.ts';
import type { ChatOptions, GenerateOptions, PromptOptions } from './generate-options.ts';
import type { ModelOptions, ModelSetup } from '../runtime/opening/loaded-model.ts';
import { LOAD_MODES } from '../runtime/opening/load-mode.ts';
import { DEFAULT_RUNTIME } from '../runtime/jobs/runtime-options.ts';

const PLAN_OPTIONS: OptionNames<PlanOptions> = {
  context: true,
  shrinkContext: true,
  batch: true,
  deterministic: true,
  logitRows: true,
  sequences: true,
  speculation: true,
  predictor: true,
  cachePositions: true,
  inFlight: true,
  preparedSteps: true,
  cacheType: true,
  weights: true,
  dequantized: true,
  embedding: true,
  experts: true,
  gpuLayers: true,
  expertSlots: true,
  expertPrefetch: true,
  pooling: true,
  rope: true,
  taps: true,
  pool: true,
  decode: true,
  allowUnread: true,
};

/** The names of `ModelOptions`, in a file of their own so that checking them does not load the engine's code. */
export const MODEL_OPTIONS: OptionNames<ModelOptions> = {
  ...PLAN_OPTIONS,
  memory: true,
  weightMemory: true,
  hostMemory: true,
  load: true,
  layers: true,
  onProgress: true,
  trace: true,
  minDraftTokens: true,
  minDraftProbability: true,
  runtime: true,
  profile: true,
  onBlocks: true,
  chatTemplate: true,
  signal: true,
  logger: true,
};

const MODEL_SETUP: OptionNames<ModelSetup> = {
  gguf: true,
  device: true,
  architectures: true,
  adapters: true,
  merged: true,
  control: true,
  tokenizer: true,
  compiled: true,
  decoder: true,
  reopen: true,
  sharedMemory: true,
  sharesDevice: true,
  draft: true,
  drafter: true,
  openFile: true,
  constraints: true,
  sampling: true,
};

/** Sampling options: every parameter except the mask, which comes from a constraint, and the penalties that DRY computes. */
const { masked: _, dryPenalties: __, ...DEVICE_SAMPLING } = DEFAULT_SAMPLING;
const SAMPLING = { ...DEVICE_SAMPLING, ...DEFAULT_HOST_SAMPLING };
const SAMPLING_OPTIONS = Object.fromEntries(Object.keys(SAMPLING).map((name) => [name, true])) as Readonly<
  Record<keyof typeof SAMPLING, true>
>;

/** The names of `GenerateOptions`. */
export const GENERATE_OPTIONS: OptionNames<GenerateOptions> = {
  ...SAMPLING_OPTIONS,
  samplers: true,
  drySequenceBreakers: true,
  namedTokens: true,
  reportsDrawn: true,
  maxTokens: true,
  minTokens: true,
  stop: true,
  includeStop: true,
  stopTokens: true,
  allowedTokens: true,
  bannedTokens: true,
  ignoreEnd: true,
  adapters: true,
  special: true,
  continues: true,
  schema: true,
  json: true,
  regex: true,
  choices: true,
  grammar: true,
  constraint: true,
  shift: true,
  speculation: true,
  scheduling: true,
  onPrompt: true,
  cacheSalt: true,
  signal: true,
};

const RENDER_OPTIONS: OptionNames<ChatRenderOptions> = {
  addGenerationPrompt: true,
  tools: true,
  variables: true,
  now: true,
};

/** The names of `ChatOptions`. */
export const CHAT_OPTIONS: OptionNames<ChatOptions> = {
  ...GENERATE_OPTIONS,
  ...RENDER_OPTIONS,
  continueFinal: true,
  reasoning: true,
  toolChoice: true,
  parallelCalls: true,
};

const SCHEDULING: OptionNames<SchedulingClass> = {
  priority: true,
  tenant: true,
  request: true,
  slot: true,
};
const REASONING_OPTIONS: OptionNames<ReasoningOptions> = { enabled: true, effort: true, budget: true };
const SCORE_OPTIONS: OptionNames<ScoreOptions> = { alternatives: true, adapters: true, signal: true };
const EMBED_OPTIONS: OptionNames<EmbedOptions> = {
  normalized: true,
  pooling: true,
  dimensions: true,
  signal: true,
};
const RERANK_OPTIONS: OptionNames<RerankOptions> = { top: true, signal: true };

const PROMPT_OPTIONS: OptionNames<PromptOptions> = {
  ...RENDER_OPTIONS,
  continueFinal: true,
  reasoning: true,
  signal: true,
};
const ENCODE_OPTIONS: OptionNames<EncodeOptions> = { addSpecial: true, parseSpecial: true };
const DECODE_OPTIONS: OptionNames<DecodeOptions> = { special: true, keepLeadingSpace: true };

/** What the options of texts are, where nothing finer is checked later. */
const CALL_VALUES: ValueKinds<ChatOptions> = {
  stop: WRITTEN_TEXTS,
  stopTokens: IDS,
  allowedTokens: IDS,
  namedTokens: IDS,
  bannedTokens: {
    expected: 'a list of lists of token ids',
    is: (value) => Array.isArray(value) && value.every(IDS.is),
  },
  samplers: TEXTS,
  logitBias: mapOf({ expected: 'a number', is: (value) => typeof value === 'number' }),
  adapters: mapOf(FINITE),
  constraint: objectWith('a TokenConstraint', 'fill', 'accept'),
  drySequenceBreakers: TEXTS,
  includeStop: FLAG,
  ignoreEnd: FLAG,
  special: FLAG,
  continues: FLAG,
  continueFinal: FLAG,
  parallelCalls: FLAG,
  reportsDrawn: FLAG,
  addGenerationPrompt: FLAG,
  json: FLAG,
  regex: { ...TEXT, expected: 'the pattern as a text (the source of a RegExp)' },
  grammar: TEXT,
  choices: TEXTS,
  cacheSalt: { expected: 'a text, not empty', is: (value) => TEXT.is(value) && value !== '' },
  now: {
    expected: 'a Date with a time',
    is: (value) =>
      Object.prototype.toString.call(value) === '[object Date]' && !Number.isNaN((value as Date).getTime()),
  },
  onPrompt: FUNCTION,
  signal: SIGNAL,
  tools: {
    expected:
      'a list of definitions {type: "function", function: {name, ...}}: a Tool has one in `definition`, and a ChatSession takes tools, whose functions it calls',
    is: (value) => Array.isArray(value) && value.every(isDefinition),
  },
  toolChoice: {
    expected: 'auto, none, required, or {name} of a tool',
    is: (value) =>
      ['auto', 'none', 'required'].includes(value as string) ||
      typeof (value as { name?: unknown }).name === 'string',
  },
};

const SCHEDULING_VALUES: ValueKinds<SchedulingClass> = {
  priority: { expected: 'a number', is: (value) => Number.isFinite(value) },
  tenant: TEXT,
  request: TEXT,
  slot: { expected: 'the number of a slot', is: (value) => Number.isInteger(value) && Number(value) >= 0 },
};

/** The same for options of a model. */
export const MODEL_VALUES: ValueKinds<ModelOptions> = {
  memory: BYTES,
  weightMemory: BYTES,
  load: oneOf(LOAD_MODES),
  onProgress: FUNCTION,
  onBlocks: FUNCTION,
  chatTemplate: TEXT,
  shrinkContext: FLAG,
  dequantized: FLAG,
  deterministic: FLAG,
  predictor: FLAG,
  allowUnread: FLAG,
  pool: FLAG,
  layers: COUNT,
  preparedSteps: COUNT,
  minDraftTokens: COUNT,
  minDraftProbability: SHARE,
  weights: oneOf(WEIGHT_POLICIES),
  decode: oneOf(DECODE_PLACES),
  taps: mapOf(FUNCTION),
  trace: objectWith('a LoadTrace', 'toJSON'),
  profile: objectWith('a StepProfile', 'take'),
  logger: objectWith('a Logger', 'enabled', 'warn', 'info', 'debug', 'trace'),
  signal: SIGNAL,
};

/** The options of a model's methods. */
const CALLS = {
  generate: GENERATE_OPTIONS,
  chat: CHAT_OPTIONS,
  answer: { ...GENERATE_OPTIONS, tools: true, reasoning: true, toolChoice: true, parallelCalls: true },
  chatPrompt: PROMPT_OPTIONS,
  countTokens: PROMPT_OPTIONS,
  renderChat: PROMPT_OPTIONS,
  tokenize: ENCODE_OPTIONS,
  detokenize: DECODE_OPTIONS,
  infill: GENERATE_OPTIONS,
  embed: EMBED_OPTIONS,
  embedTokens: { signal: true },
  rerank: RERANK_OPTIONS,
  classify: { signal: true },
  score: SCORE_OPTIONS,
  evaluate: { signal: true, adapters: true },
};

/** Throws `OPTION_UNKNOWN` or `INVALID_ARGUMENT` for unknown options of a model's method. */
export function checkCall(method: keyof typeof CALLS, options: unknown): void {
  checkOptions(method, options, CALLS[method]);
  const { reasoning, scheduling } = options as Readonly<Record<string, unknown>>;
  checkOptions('reasoning', reasoning, REASONING_OPTIONS);
  checkOptions('scheduling', scheduling, SCHEDULING);
  checkValues(options as ChatOptions, CALL_VALUES);
  checkValues(scheduling as SchedulingClass | undefined, SCHEDULING_VALUES);
}

/** Throws `OPTION_UNKNOWN` or `INVALID_ARGUMENT` for unknown members of a setup and unknown options. */
export function checkOpening(setup: ModelSetup, options: ModelOptions): void {
  checkOptions('the parts of a model', setup, MODEL_SETUP);
  checkOptions('a model', options, MODEL_OPTIONS);
  checkOptions('runtime', options.runtime, DEFAULT_RUNTIME);
  checkValues(options, MODEL_VALUES);
}

/** True for a tool's definition. A function in it would never be called. */
function isDefinition(value: unknown): boolean {
  const of = (value as { readonly function?: unknown } | null | undefined)?.function;
  if (typeof of !== 'object' || of === null || typeof (of as { name?: unknown }).name !== 'string')
    return false;
  return ![...Object.values(value as object), ...Object.values(of)].some((one) => typeof one === 'function');
}
