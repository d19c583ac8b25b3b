/** How a call ended: with all of its arguments, cut off with the text, or with something that is not what the dialect writes. */
export type CallOutcome = 'whole' | 'cut' | 'malformed';

/**
 * A part of an answer. The `arguments` of a call, one after another, are the beginning of a JSON object, and all of one
 * when its `end` says `whole`; only then may they be read. Calls count from 0.
 */
export type AnswerPart =
  | { readonly kind: 'reasoning'; readonly text: string }
  | { readonly kind: 'text'; readonly text: string }
  /** The beginning of a call; the id where the dialect writes one before the arguments. */
  | { readonly kind: 'call'; readonly call: number; readonly name: string; readonly id?: string }
  | { readonly kind: 'arguments'; readonly call: number; readonly text: string }
  /** The end of a call; the id where the dialect writes it after the arguments. */
  | { readonly kind: 'end'; readonly call: number; readonly outcome: CallOutcome; readonly id?: string }
  /**
   * Something that began like a call and is none. Its text is in the answer's `text` parts, or in `text` here where the dialect
   * wrote it to a tool that there is none of.
   */
  | {
      readonly kind: 'fault';
      readonly fault: 'unknown-tool' | 'malformed' | 'cut';
      readonly name?: string;
      readonly text?: string;
    };
