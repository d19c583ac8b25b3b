/** How a call ended: complete, cut off with the text, or with something that is not the dialect's syntax. */
export type CallOutcome = 'whole' | 'cut' | 'malformed';

/**
 * A part of an answer. The concatenated `arguments` of a call are the beginning of a JSON object, and complete once its
 * `end` says `whole`; only then may they be parsed. Calls count from 0.
 */
export type AnswerPart =
  | { readonly kind: 'reasoning'; readonly text: string }
  | { readonly kind: 'text'; readonly text: string }
  /** The beginning of a call, with its id if the dialect writes it before the arguments. */
  | { readonly kind: 'call'; readonly call: number; readonly name: string; readonly id?: string }
  | { readonly kind: 'arguments'; readonly call: number; readonly text: string }
  /** The end of a call, with its id if the dialect writes it after the arguments. */
  | { readonly kind: 'end'; readonly call: number; readonly outcome: CallOutcome; readonly id?: string }
  /**
   * Something that began like a call but is none. Its text is in the answer's `text` parts, or in `text` here if the
   * dialect addressed it to an unknown tool.
   */
  | {
      readonly kind: 'fault';
      readonly fault: 'unknown-tool' | 'malformed' | 'cut';
      readonly name?: string;
      readonly text?: string;
    };
