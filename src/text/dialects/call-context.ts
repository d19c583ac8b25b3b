import type { Rule } from '../../grammar/index.ts';
import type { CallOutcome } from './answer-part.ts';
import type { Parameters } from './parameters.ts';
import type { Reading, Scanner } from './scanner.ts';
import type { CallWriter } from './written-calls.ts';

/** What the parsers of calls read from and report to. */
export interface CallContext {
  readonly scanner: Scanner;
  /** The parameters of the tools that may be called. */
  readonly tools: ReadonlyMap<string, Parameters>;
  /** Begins a call; false, with nothing reported but a fault, if there is no such tool. */
  beginCall(name: string, id?: string): boolean;
  /** Emits a piece of the arguments of the current call. */
  emitArguments(text: string): void;
  /** Ends the current call; missing arguments are an empty object. */
  endCall(outcome: CallOutcome, id?: string): void;
}

/** Which calls a text may have. */
export interface CallRules {
  /** The parameters of the tools that may be called. */
  readonly tools: ReadonlyMap<string, Parameters>;
  /** Whether several calls are allowed. */
  readonly isParallel: boolean;
}

/** A family's syntax of calls. */
export interface CallSyntax {
  /** What calls begin with; text that contains one of these may be a call. */
  readonly starts: readonly string[];
  /** True if a call may also be the whole answer, without any of `starts`. */
  readonly beginsAnswer?: boolean;
  /**
   * Parses the calls after a start; the scanner stands after it, and undefined is the answer's beginning. False if
   * there was no call: unread input is then text. After a call, text continues where the scanner stands.
   */
  read(context: CallContext, start: string | undefined): Reading<boolean>;
  /** The grammar rule of one call, or several. Throws `SCHEMA_UNSUPPORTED` and as `schemaGrammar`. */
  rule(rules: CallRules): Rule;
  readonly write: CallWriter;
}

/** Parses a call after its opening, and all that follow it; false if the first was none. */
export function* readConsecutiveCalls(
  { scanner }: CallContext,
  open: string,
  readCall: () => Reading<boolean>,
): Reading<boolean> {
  if (!(yield* readCall())) return false;
  for (;;) {
    const before = scanner.place;
    if ((yield* scanner.takeSpaced([open])) === undefined) return true;
    if (yield* readCall()) continue;
    scanner.goTo(before);
    return true;
  }
}

/** How an incomplete call ends. */
export function incompleteOutcome(scanner: Scanner): CallOutcome {
  return scanner.isAtEnd ? 'cut' : 'malformed';
}
