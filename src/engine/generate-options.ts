import { fail } from '../base/errors.ts';
import type { ChatRenderOptions, ReasoningOptions, TokenConstraint } from '../text/index.ts';
import type { ContextShift, PromptProgress } from '../runtime/sequence.ts';
import type { SchedulingClass } from '../scheduler/fair-shares.ts';
import {
  type ChainParameters,
  DEFAULT_HOST_SAMPLING,
  DEFAULT_SAMPLING,
  type DryBreakers,
  type DryParameters,
  type HostNumbers,
  isUsualOrder,
  OFF,
  type SamplerName,
  SAMPLERS,
  type SamplingParameters,
  validateHostSampling,
  validateSampling,
} from '../ops/index.ts';

/**
 * Options of text generation. Sampling has the values that the model's file recommends by default, and otherwise those of
 * `DEFAULT_SAMPLING` and `DEFAULT_HOST_SAMPLING`.
 */
export interface GenerateOptions<S = unknown>
  extends
    Partial<Omit<SamplingParameters, 'logitBias' | 'logProbabilities' | 'dryPenalties' | 'masked'>>,
    Partial<HostNumbers> {
  /**
   * The samplers by llama.cpp's names, in order; others are off. The usual order and parts of it run on the device, any other on
   * the host. Default: all but `adaptive_p`.
   */
  readonly samplers?: readonly SamplerName[] | undefined;
  /** Texts that interrupt a repetition, for DRY. Default: a line break, `:`, `"` and `*`. */
  readonly drySequenceBreakers?: readonly string[] | undefined;
  /** Maximum tokens to generate. Default: up to the end of the context. */
  readonly maxTokens?: number | undefined;
  /** Minimum number of tokens before the text may end by the model's end tokens, `stopTokens` or `stop`. Default 0. */
  readonly minTokens?: number | undefined;
  /** Strings that end the text; neither they nor what follows is emitted. */
  readonly stop?: readonly string[];
  /** Whether the stop string that ended the text is emitted. */
  readonly includeStop?: boolean | undefined;
  /** Ids that end the text, besides the model's own; they are not emitted. */
  readonly stopTokens?: readonly number[] | undefined;
  /** If given, only these ids and those that end the text are allowed. Default: all. */
  readonly allowedTokens?: readonly number[] | undefined;
  /** Sequences of ids that must not occur, for example a word in each of its tokenizations. */
  readonly bannedTokens?: readonly (readonly number[])[] | undefined;
  /** Continue after the model's own end-of-generation tokens. */
  readonly ignoreEnd?: boolean;
  /** Added to the logits of token ids; -Infinity forbids one. */
  readonly logitBias?: ReadonlyMap<number, number>;
  /** Report the log probabilities of the sampled tokens and of this many of the most likely ones (0 to 20). */
  readonly logProbabilities?: number;
  /** Token ids whose log-probabilities are reported for every token, before any sampler. */
  readonly namedTokens?: readonly number[] | undefined;
  /** Report log-probabilities of the distribution from which tokens are drawn, after all samplers. Default false. */
  readonly reportsDrawn?: boolean | undefined;
  /**
   * LoRA adapters by name, with their scales (1: as trained). Default: those and the scales with which the model was
   * opened.
   */
  readonly adapters?: ReadonlyMap<string, number> | undefined;
  /** Write control tokens as their names. */
  readonly special?: boolean;
  /**
   * The text continues the prompt's, so a space before its first word belongs to it. Default: true for generation,
   * false for an answer.
   */
  readonly continues?: boolean | undefined;
  /**
   * A JSON schema (draft 2020-12), or a typed one (Zod), that the text satisfies, as compact or indented JSON; `json()` of the stream
   * has its type. Every keyword is enforced, or the stream rejects with `SCHEMA_UNSUPPORTED`. At most one of this and the following five can be given.
   */
  readonly schema?: S | undefined;
  /** The text is a JSON object. */
  readonly json?: boolean | undefined;
  /** An ECMA-262 pattern (flag `u`) that matches the whole text. */
  readonly regex?: string | undefined;
  /** The text is one of these. */
  readonly choices?: readonly string[] | undefined;
  /** A grammar in llama.cpp's GBNF that the text matches. */
  readonly grammar?: string | undefined;
  /** A custom constraint. The caller disposes it when the text has ended. */
  readonly constraint?: TokenConstraint | undefined;
  /** What to do when the context is full. Default: the text ends there. */
  readonly shift?: ContextShift | undefined;
  /** Maximum draft tokens per step; 0 for none. Default: as the model was opened. */
  readonly speculation?: number | undefined;
  /**
   * The tenant, request and priority, for scheduling when several requests compete for slots. Default: one common
   * tenant, and priority 0.
   */
  readonly scheduling?: SchedulingClass | undefined;
  /** Called while the prompt is computed: when it begins, after each step, and just before the first token. */
  readonly onPrompt?: ((progress: PromptProgress) => void) | undefined;
  /**
   * Only texts with the same salt share the cache of a common prefix, so that nobody else learns from times what was asked. Default:
   * those without one share it.
   */
  readonly cacheSalt?: string | undefined;
  /** Aborts the text with `ABORTED`. */
  readonly signal?: AbortSignal | undefined;
}

/** Options of an answer to a conversation. */
export interface ChatOptions<S = unknown> extends GenerateOptions<S>, ChatRenderOptions {
  /** The last message is the assistant's and is the beginning of the answer, which continues it. Default false. */
  readonly continueFinal?: boolean | undefined;
  /** Whether, how much and how long the model reasons before it answers. */
  readonly reasoning?: ReasoningOptions | undefined;
  /** Whether the answer may call a tool (`auto`, the default), must, must not, or must call a certain one. */
  readonly toolChoice?: 'auto' | 'none' | 'required' | { readonly name: string } | undefined;
  /** Whether several calls are allowed in one answer. Default true. */
  readonly parallelCalls?: boolean | undefined;
}

/** Options of a conversation that is rendered and encoded. */
export type PromptOptions = Pick<
  ChatOptions,
  keyof ChatRenderOptions | 'reasoning' | 'continueFinal' | 'signal'
>;

/** Options of an answer to an encoded conversation. */
export type AnswerOptions<S = unknown> = GenerateOptions<S> &
  Pick<ChatOptions, 'tools' | 'reasoning' | 'toolChoice' | 'parallelCalls'>;

/** DRY's default breakers: llama.cpp's. */
export const DRY_BREAKERS: readonly string[] = ['\n', ':', '"', '*'];

/** Maximum ids whose log-probabilities are reported. */
const MAX_NAMED_TOKENS = 1024;

/** How a sequence's tokens are sampled: on the device, with penalties that the host computes, or by a chain on the host. */
export interface SequenceSampling {
  readonly sampling: SamplingParameters;
  readonly dry: Omit<DryParameters, 'breakers'> | undefined;
  readonly chain: Omit<ChainParameters, 'dry'> | undefined;
}

/** The sampling of a text, `masked` or not, with defaults. Throws `INVALID_ARGUMENT`. */
export function samplingOf(options: GenerateOptions, masked: boolean): SequenceSampling {
  const seed = options.seed ?? Math.floor(Math.random() * 2 ** 32);
  const host = withDefaults(options, DEFAULT_HOST_SAMPLING);
  validateHostSampling(host);
  const { samplers = USUAL_SAMPLERS } = options;
  checkSamplers(samplers);
  const off = SAMPLERS.filter((name) => !samplers.includes(name)).map((name) => OFF[name]);
  const given = { ...withDefaults(options, DEFAULT_SAMPLING), seed, masked };
  validateSampling(given);
  const sampling: SamplingParameters =
    host.mirostat > 0 || off.length === 0 ? given : Object.assign({}, given, ...off);
  const { dryMultiplier: multiplier, dryBase: base, dryAllowedLength: allowedLength, ...rest } = host;
  const { dryPenaltyLastN: window, ...numbers } = rest;
  const isDry = samplers.includes('dry') && multiplier !== 0 && base >= 1 && window !== 0 && !host.mirostat;
  const dry = isDry ? { multiplier, base, allowedLength, window } : undefined;
  const { namedTokens = [], reportsDrawn = false } = options;
  const isOnDevice =
    host.mirostat === 0 &&
    !(host.minKeep > 1 && samplers.some((name) => KEEPING.has(name))) &&
    isUsualOrder(samplers) &&
    namedTokens.length === 0 &&
    !(reportsDrawn && sampling.logProbabilities >= 0);
  const chain = isOnDevice ? undefined : { ...numbers, samplers, namedTokens, reportsDrawn };
  return { sampling, dry, chain };
}

/** The samplers of a text that names none. */
const USUAL_SAMPLERS: readonly SamplerName[] = SAMPLERS.slice(0, -1);

/** The samplers that leave `minKeep` tokens. */
const KEEPING: ReadonlySet<SamplerName> = new Set(['typ_p', 'top_p', 'min_p', 'xtc']);

/** The parts of a request that say how its tokens are sampled. */
export function requestSampling(
  { sampling, dry: repetition, chain }: SequenceSampling,
  breakers: DryBreakers,
): {
  sampling: SamplingParameters;
  dry?: DryParameters | undefined;
  chain?: ChainParameters | undefined;
} {
  const dry = repetition && { ...repetition, breakers };
  return chain ? { sampling, chain: { ...chain, dry } } : { sampling, dry };
}

/** Throws `INVALID_ARGUMENT` for ids outside the vocabulary, and for too many. */
export function checkNamedTokens(ids: readonly number[], vocabulary: number): void {
  const name = 'namedTokens';
  if (ids.length > MAX_NAMED_TOKENS) {
    fail('INVALID_ARGUMENT', { name, found: `${ids.length} ids`, expected: `at most ${MAX_NAMED_TOKENS}` });
  }
  const other = ids.find((id) => !Number.isInteger(id) || id < 0 || id >= vocabulary);
  if (other === undefined) return;
  fail('INVALID_ARGUMENT', { name, found: `token ${other}`, expected: `ids from 0 to ${vocabulary - 1}` });
}

function checkSamplers(samplers: readonly SamplerName[]): void {
  const other = samplers.find((name) => !SAMPLERS.includes(name));
  if (other === undefined && samplers.length <= MAX_SAMPLERS) return;
  const expected = `at most ${MAX_SAMPLERS} of ${SAMPLERS.join(', ')}`;
  fail('INVALID_ARGUMENT', { name: 'samplers', found: other ?? `${samplers.length} samplers`, expected });
}

/** Maximum samplers in a chain; one may occur repeatedly. */
const MAX_SAMPLERS = 64;

/** The options of these names, with defaults. */
function withDefaults<T extends object>(options: GenerateOptions, defaults: T): T {
  const all: T = { ...defaults };
  // Options are few, and their defaults many.
  for (const name of Object.keys(options)) {
    const value: unknown = options[name as keyof GenerateOptions];
    if (value !== undefined && value !== null && Object.hasOwn(defaults, name))
      all[name as keyof T] = value as T[keyof T];
  }
  return all;
}
