import type { Rule } from '../../grammar/index.ts';
import type { CallContext, CallRules, CallSyntax } from './call-context.ts';
import type { Reading } from './scanner.ts';
import type { CallWriter } from './written-calls.ts';

/** How reasoning is told from the answer. */
export interface ReasoningForm {
  readonly open: string;
  readonly close: string;
  /** A call ends the reasoning even where nothing closes it. */
  readonly isEndedByCalls?: boolean;
  /** Reasoning may also be opened later than at the answer's beginning. */
  readonly isAnywhere?: boolean;
  /** What makes the answer begin where the reasoning is to end. Default: `close`. */
  readonly forced?: string;
}

/** What a reader of whole answers tells, besides calls. */
export interface AnswerContext extends CallContext {
  readonly reason: (text: string) => void;
  readonly say: (text: string) => void;
  /** Reasoning begins or ends here, though there may be nothing of it. */
  readonly mark: (isReasoning: boolean) => void;
  /** What began like a call is none. */
  readonly refuse: (fault: 'malformed' | 'cut') => void;
  /** What the model wrote to a tool that there is none of. */
  readonly leaveOut: (name: string, text: string) => void;
}

/** What an answer is to be. */
export interface AnswerRules extends CallRules {
  /** It has calls; otherwise it may have some. */
  readonly isRequired: boolean;
  /** It may begin with reasoning. */
  readonly mayThink: boolean;
  /** What of the answer the prompt holds already. */
  readonly opening: string;
}

/** What the text of an answer is to be: free text without these markers, or what a schema or a grammar says. */
export type TextRule = (markers: readonly string[]) => Rule;

/** How a family of models writes its answers. */
export interface Dialect {
  readonly name: string;
  readonly reasoning: ReasoningForm;
  /** The template speaks of reasoning; other models may think nevertheless. */
  readonly thinks?: boolean;
  /** How calls stand in the text, where the dialect has no reader of its own. */
  readonly calls?: CallSyntax;
  /** Markers around the answer that are no part of it. */
  readonly ignored?: readonly string[];
  /** Ids that a template accepts are this long, of letters and digits. */
  readonly idLength?: number;
  /** What the end of a prompt says of the answer's beginning: a text that is read before it. Default: an open or closed reasoning. */
  readonly opening?: (prompt: string) => string;
  /** What whole answers are, where the dialect has a reader of its own. */
  readonly rule?: (rules: AnswerRules, form: TextRule) => Rule;
  /** Reads a whole answer, where it is more than reasoning, text and calls in this order. */
  readonly read?: (context: AnswerContext, dialect: Dialect) => Reading<void>;
}

/** The dialect of a template: the model has learnt to write calls. */
export interface TemplateDialect extends Dialect {
  readonly write: CallWriter;
}

/** What the end of a prompt says of the answer's beginning: a text that the answer goes on from. */
export function openingOf(dialect: Dialect, prompt: string): string {
  if (dialect.opening) return dialect.opening(prompt);
  const { open, close } = dialect.reasoning;
  const end = prompt.trimEnd();
  if (end.endsWith(open)) return open;
  return end.endsWith(close) ? open + close : '';
}
