import type { GenerateOptions } from '../../engine/generate-options.ts';
import type { TextModel } from '../../engine/text-model.ts';
import type { SampledToken } from '../../runtime/jobs/sampled-token.ts';
import type { TextEnd } from '../../engine/text-stream.ts';
import type { PromptProgress } from '../../runtime/sequence.ts';
import type { ScoredId } from '../../engine/score.ts';
import type { CallOutcome } from '../../text/index.ts';
import type { Timings } from './timings.ts';

/** Why a choice ended: at its own end or a stop string, at a limit, or to have functions called. */
export type FinishReason = 'stop' | 'length' | 'calls';

/** What a generation starts from. */
export interface TaskPrompts {
  /** At least one. The choices of the first come first. */
  readonly prompts: readonly (readonly number[])[];
  /** The log-probabilities of each prompt's ids but the first, where the answer reports them. */
  readonly scores?: readonly (readonly ScoredId[])[];
  /** Answers to each prompt. */
  readonly choices: number;
  /** How they are generated. */
  readonly options: GenerateOptions;
}

/** An event of a running generation, for any API; `choice` counts from 0. The first event is `begin`. */
export type ChoiceEvent = (
  | {
      readonly kind: 'begin';
      /** The name under which the model is served. */
      readonly id: string;
      readonly model: TextModel;
      readonly task: TaskPrompts;
      /** Seconds until the model was there. */
      readonly loadSeconds: number;
    }
  /** Progress of a prompt, where the request wants to know. */
  | { readonly kind: 'prompt'; readonly choice: number; readonly progress: PromptProgress }
  | {
      readonly kind: 'text';
      readonly choice: number;
      readonly text: string;
      /** The token of the text; undefined for text that was held back. */
      readonly token: SampledToken | undefined;
    }
  /** Reasoning before the answer. */
  | { readonly kind: 'reasoning'; readonly choice: number; readonly text: string }
  | {
      readonly kind: 'call';
      readonly choice: number;
      /** Counts the choice's calls from 0. */
      readonly call: number;
      readonly id: string;
      readonly name: string;
    }
  | { readonly kind: 'arguments'; readonly choice: number; readonly call: number; readonly text: string }
  /** The end of a call: only a `whole` one has complete arguments. */
  | {
      readonly kind: 'call-end';
      readonly choice: number;
      readonly call: number;
      readonly outcome: CallOutcome;
    }
  | {
      readonly kind: 'end';
      readonly choice: number;
      readonly finish: FinishReason;
      readonly end: TextEnd;
      /** The generated tokens that were reasoning, with its delimiters. */
      readonly reasoningTokens: number;
    }
) & {
  /** Times so far, where the request wants to know. */
  readonly timings?: Timings;
};

/** All events after the first. */
export type ChoiceEvents = AsyncGenerator<Exclude<ChoiceEvent, { kind: 'begin' }>, void>;
