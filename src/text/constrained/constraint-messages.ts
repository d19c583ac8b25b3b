import type { SentError } from '../../base/sent-error.ts';
import type { VocabularyTable } from './vocabulary-table.ts';

/** To the worker, which does one after the other, but writes masks while it compiles. */
export type ConstraintRequest =
  | { readonly kind: 'vocabulary'; readonly vocabulary: number; readonly table: VocabularyTable }
  | { readonly kind: 'forget'; readonly vocabulary: number }
  | ({ readonly kind: 'open'; readonly call: number } & OpenedText)
  /** Takes the tokens that came since the last request, and writes what may come next into the text's mask. */
  | {
      readonly kind: 'fill';
      readonly call: number;
      readonly text: number;
      readonly accepted: readonly number[];
    }
  | { readonly kind: 'close'; readonly text: number };

/** A text as it begins, or as it stood when another worker had it. */
export interface OpenedText {
  readonly text: number;
  readonly vocabulary: number;
  /** The form as it is written. */
  readonly written: string;
  readonly accepted: readonly number[];
  /** Shared: what may come next, in the first words. */
  readonly mask: Int32Array;
  /** Shared: one word, not zero when nobody waits for the text any more. */
  readonly cancelled: Int32Array;
}

/** From the worker, as each call is done. */
export interface ConstraintReply {
  readonly call: number;
  /** The text is complete: nothing may come. */
  readonly isComplete: boolean;
  readonly error?: SentError;
}
