import type { ChatRenderOptions, ReasoningOptions, TokenConstraint } from '../text/index.ts';
import type { ContextShift } from '../runtime/sequence.ts';
import type { SchedulingClass } from '../scheduler/fair-shares.ts';
import { DEFAULT_SAMPLING, type SamplingParameters, validateSampling } from '../ops/index.ts';

/** How a text is continued. What is left out takes the defaults of `DEFAULT_SAMPLING`. */
export interface GenerateOptions extends Partial<
  Omit<SamplingParameters, 'logitBias' | 'logProbabilities' | 'masked'>
> {
  /** Most tokens to generate. Default: up to the context's end. */
  readonly maxTokens?: number;
  /** Tokens before which the text does not end: by the model's own end, `stopTokens` or `stop`. Default 0. */
  readonly minTokens?: number | undefined;
  /** Strings that end the text; neither they nor what follows is given out. */
  readonly stop?: readonly string[];
  /** Gives out the stop string that ended the text. */
  readonly includeStop?: boolean | undefined;
  /** Ids that end the text beside the model's own; they are not given out. */
  readonly stopTokens?: readonly number[] | undefined;
  /** The only ids that the text may be of, beside those that end it. Default: all. */
  readonly allowedTokens?: readonly number[] | undefined;
  /** Stretches of ids that the text must not have: a word in each of its spellings, for one. */
  readonly bannedTokens?: readonly (readonly number[])[] | undefined;
  /** Goes on after the model's own end-of-generation tokens. */
  readonly ignoreEnd?: boolean;
  /** Added to the logits of token ids; -Infinity forbids one. */
  readonly logitBias?: ReadonlyMap<number, number>;
  /** Report the chosen tokens' log-probabilities with this many of the most likely tokens beside (0 to 20). */
  readonly logProbabilities?: number;
  /**
   * Adapters that the text goes through, by their names, and how strongly each counts: 1 as it was trained. Default: those
   * and as strongly as the model was opened with them.
   */
  readonly adapters?: ReadonlyMap<string, number> | undefined;
  /** Write control tokens as their names. */
  readonly special?: boolean;
  /**
   * The text goes on after the prompt's, so that a space before its first word belongs to it. Default: true for a text's
   * continuation, false for an answer.
   */
  readonly continues?: boolean;
  /**
   * A JSON schema (draft 2020-12) that the text satisfies as compact or indented JSON. Every keyword is honoured, or the stream
   * rejects with `SCHEMA_UNSUPPORTED`. Of this and the five below, one is given at most.
   */
  readonly schema?: unknown;
  /** The text is a JSON object. */
  readonly json?: boolean | undefined;
  /** An ECMA-262 pattern (flag `u`) that matches the text as a whole. */
  readonly regex?: string | undefined;
  /** The text is one of these. */
  readonly choices?: readonly string[] | undefined;
  /** A grammar in llama.cpp's GBNF, of which the text is. */
  readonly grammar?: string | undefined;
  /** A constraint of one's own. The caller disposes it when the text has ended. */
  readonly constraint?: TokenConstraint | undefined;
  /** What happens when the context is full. Default: the text ends there. */
  readonly shift?: ContextShift | undefined;
  /** Most draft tokens at once; 0 for none. Default: as many as the model was opened for. */
  readonly speculation?: number | undefined;
  /** Whose text it is, and how urgent, where several want the model's slots. Default: a tenant that all share, and priority 0. */
  readonly scheduling?: SchedulingClass | undefined;
  /** Ends the text with `ABORTED`. */
  readonly signal?: AbortSignal | undefined;
}

/** How a conversation is answered. */
export interface ChatOptions extends GenerateOptions, ChatRenderOptions {
  /** What the model thinks before it answers: whether, how much, and for how long. */
  readonly reasoning?: ReasoningOptions | undefined;
  /** Whether the answer may call a tool (`auto`, the default), must, must not, or must call this one. */
  readonly toolChoice?: 'auto' | 'none' | 'required' | { readonly name: string } | undefined;
  /** Whether a forced call may be followed by others. Default true. */
  readonly parallelCalls?: boolean | undefined;
}

/** How an encoded conversation is answered. */
export type AnswerOptions = GenerateOptions &
  Pick<ChatOptions, 'tools' | 'reasoning' | 'toolChoice' | 'parallelCalls'>;

/** How tokens are chosen, `masked` or not, with the defaults for what the options leave out. Throws `INVALID_ARGUMENT`. */
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
