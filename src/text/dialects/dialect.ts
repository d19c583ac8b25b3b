import type { Rule } from '../../grammar/index.ts';
import type { CallContext, CallRules, CallSyntax } from './call-context.ts';
import type { Reading } from './scanner.ts';
import type { CallWriter } from './written-calls.ts';

/** How reasoning is marked. */
export interface ReasoningForm {
  readonly open: string;
  readonly close: string;
  /** Whether a call ends the reasoning even without a closing marker. */
  readonly isEndedByCalls?: boolean;
  /** Whether reasoning may also be opened later than at the answer's beginning. */
  readonly isAnywhere?: boolean;
  /** What to insert so that the answer begins when the reasoning has to end. Default: `close`. */
  readonly forced?: string;
}

/** What a parser of whole answers reports, besides calls. */
export interface AnswerContext extends CallContext {
  readonly emitReasoning: (text: string) => void;
  readonly emitText: (text: string) => void;
  /** Reasoning begins or ends here; it may be empty. */
  readonly markReasoning: (isReasoning: boolean) => void;
  /** What began like a call is none. */
  readonly reportFault: (fault: 'malformed' | 'cut') => void;
  /** Text that the model addressed to an unknown tool. */
  readonly reportUnknownTool: (name: string, text: string) => void;
}

/** The requirements for an answer. */
export interface AnswerRules extends CallRules {
  /** Whether it must have calls. */
  readonly isRequired: boolean;
  /** Whether it may begin with reasoning. */
  readonly mayThink: boolean;
  /** The part of the answer that the prompt already contains. */
  readonly opening: string;
}

/** The text of an answer: free text without these markers, or what a schema or a grammar requires. */
export type TextRule = (markers: readonly string[]) => Rule;

/** A family's syntax of answers. */
export interface Dialect {
  readonly name: string;
  readonly reasoning: ReasoningForm;
  /** Whether the template mentions reasoning; other models may still reason. */
  readonly thinks?: boolean;
  /** The syntax of calls within text, unless the dialect has its own parser. */
  readonly calls?: CallSyntax;
  /** Markers around the answer that are not part of it. */
  readonly ignored?: readonly string[];
  /** Length of the ids that a template accepts, in letters and digits. */
  readonly idLength?: number;
  /**
   * What the end of a prompt says about the answer's beginning: a text that is parsed before it. Default: an open or
   * closed reasoning block.
   */
  readonly opening?: (prompt: string) => string;
  /** The grammar rule of whole answers, if the dialect has its own parser. */
  readonly rule?: (rules: AnswerRules, form: TextRule) => Rule;
  /** Parses a whole answer, if it is more than reasoning, text and calls in this order. */
  readonly read?: (context: AnswerContext, dialect: Dialect) => Reading<void>;
}

/** The dialect of a template whose model was trained to write calls. */
export interface TemplateDialect extends Dialect {
  readonly write: CallWriter;
}

/** What the end of a prompt says about the answer's beginning: a text that the answer continues. */
export function openingOf(dialect: Dialect, prompt: string): string {
  if (dialect.opening) return dialect.opening(prompt);
  const { open, close } = dialect.reasoning;
  const end = prompt.trimEnd();
  if (end.endsWith(open)) return open;
  return end.endsWith(close) ? open + close : '';
}
