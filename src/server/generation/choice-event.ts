import type { TextModel } from '../../engine/text-model.ts';
import type { SampledToken } from '../../runtime/jobs/sampled-token.ts';
import type { TextEnd } from '../../engine/text-stream.ts';
import type { CallOutcome } from '../../text/index.ts';

/** Why a choice ended: by itself or a stop string, at a limit, or to have functions called. */
export type Finish = 'stop' | 'length' | 'calls';

/** What a generation says while it runs, whatever the API; `choice` counts from 0. The first event is `begin`. */
export type ChoiceEvent =
  | {
      readonly kind: 'begin';
      /** The name under which the model is served. */
      readonly id: string;
      readonly model: TextModel;
      readonly prompt: readonly number[];
    }
  | {
      readonly kind: 'text';
      readonly choice: number;
      readonly text: string;
      /** The token behind the text; undefined for what was held back before. */
      readonly token: SampledToken | undefined;
    }
  /** What the model thinks before it answers. */
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
  /** The end of a call: only a `whole` one has whole arguments. */
  | {
      readonly kind: 'call-end';
      readonly choice: number;
      readonly call: number;
      readonly outcome: CallOutcome;
    }
  | { readonly kind: 'end'; readonly choice: number; readonly finish: Finish; readonly end: TextEnd };

/** Events after the first. */
export type ChoiceEvents = AsyncGenerator<Exclude<ChoiceEvent, { kind: 'begin' }>, void>;
