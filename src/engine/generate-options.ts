import type { ChatRenderOptions, ReasoningOptions, TokenConstraint } from '../text/index.ts';
import type { ContextShift } from '../runtime/sequence.ts';
import type { SchedulingClass } from '../scheduler/fair-shares.ts';
import { DEFAULT_SAMPLING, type SamplingParameters, validateSampling } from '../ops/index.ts';

/** Options of text generation. Defaults are those of `DEFAULT_SAMPLING`. */
export interface GenerateOptions extends Partial<
  Omit<SamplingParameters, 'logitBias' | 'logProbabilities' | 'masked'>
> {
  /** Maximum tokens to generate. Default: up to the end of the context. */
  readonly maxTokens?: number;
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
   * A JSON schema (draft 2020-12) that the text satisfies, as compact or indented JSON. Every keyword is enforced, or
   * the stream rejects with `SCHEMA_UNSUPPORTED`. At most one of this and the following five can be given.
   */
  readonly schema?: unknown;
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
  /** Aborts the text with `ABORTED`. */
  readonly signal?: AbortSignal | undefined;
}

/** Options of an answer to a conversation. */
export interface ChatOptions extends GenerateOptions, ChatRenderOptions {
  /** The last message is the assistant's and is the beginning of the answer, which continues it. Default false. */
  readonly continueFinal?: boolean | undefined;
  /** Whether, how much and how long the model reasons before it answers. */
  readonly reasoning?: ReasoningOptions | undefined;
  /** Whether the answer may call a tool (`auto`, the default), must, must not, or must call a certain one. */
  readonly toolChoice?: 'auto' | 'none' | 'required' | { readonly name: string } | undefined;
  /** Whether several calls are allowed in one answer. Default true. */
  readonly parallelCalls?: boolean | undefined;
}

/** Options of an answer to an encoded conversation. */
export type AnswerOptions = GenerateOptions &
  Pick<ChatOptions, 'tools' | 'reasoning' | 'toolChoice' | 'parallelCalls'>;

/** Sampling parameters, `masked` or not, with defaults. Throws `INVALID_ARGUMENT`. */
export function samplingOf(options: GenerateOptions, masked: boolean): SamplingParameters {
  const sampling: Record<string, unknown> = {};
  for (const [name, standard] of Object.entries(DEFAULT_SAMPLING)) {
    sampling[name] = options[name as keyof GenerateOptions] ?? standard;
  }
  const seed = options.seed ?? Math.floor(Math.random() * 2 ** 32);
  const parameters = {
    ...sampling,
    seed,
    masked,
  } as unknown as SamplingParameters;
  validateSampling(parameters);
  return parameters;
}
