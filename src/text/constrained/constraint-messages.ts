import type { SentError } from '../../base/sent-error.ts';
import type { VocabularyTable } from './vocabulary-table.ts';

/** Messages to the worker, which processes them in order, except that it computes masks while compiling. */
export type ConstraintRequest =
  | { readonly kind: 'vocabulary'; readonly vocabulary: number; readonly table: VocabularyTable }
  | { readonly kind: 'forget'; readonly vocabulary: number }
  | ({ readonly kind: 'open'; readonly call: number } & OpenedText)
  /** Passes the tokens since the last request, and requests the text's mask. */
  | {
      readonly kind: 'fill';
      readonly call: number;
      readonly text: number;
      readonly accepted: readonly number[];
    }
  | { readonly kind: 'close'; readonly text: number };

/** A text at its start, or at the point where another worker left it. */
export interface OpenedText {
  readonly text: number;
  readonly vocabulary: number;
  /** The form as text. */
  readonly written: string;
  readonly accepted: readonly number[];
  /** Shared memory: the mask, in the first words. */
  readonly mask: Int32Array;
  /** Shared memory: one word, nonzero once nobody waits for the text any more. */
  readonly cancelled: Int32Array;
}

/** Messages from the worker, as each call is done. */
export interface ConstraintReply {
  readonly call: number;
  /** The text is complete: no token may follow. */
  readonly isComplete: boolean;
  readonly error?: SentError;
}
