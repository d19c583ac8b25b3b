import type { Rule } from '../../grammar/index.ts';
import type { CallOutcome } from './answer-part.ts';
import type { Parameters } from './parameters.ts';
import type { Reading, Scanner } from './scanner.ts';
import type { CallWriter } from './written-calls.ts';

/** What the readers of calls read from and tell. */
export interface CallContext {
  readonly scanner: Scanner;
  /** The parameters of the tools that may be called. */
  readonly tools: ReadonlyMap<string, Parameters>;
  /** A call begins; false, and nothing told but a fault, where there is no such tool. */
  begin(name: string, id?: string): boolean;
  /** A piece of the arguments of the call that was begun last. */
  give(text: string): void;
  /** The call that was begun last has ended; no arguments at all are an empty object. */
  end(outcome: CallOutcome, id?: string): void;
}

/** Which calls a text is to have. */
export interface CallRules {
  /** The parameters of the tools that may be called. */
  readonly tools: ReadonlyMap<string, Parameters>;
  /** One call may follow another. */
  readonly isParallel: boolean;
}

/** How a family of models writes calls. */
export interface CallSyntax {
  /** What calls begin with; text that contains one of these may be a call. */
  readonly starts: readonly string[];
  /** True where a call may also be the whole answer, beginning with none of `starts`. */
  readonly beginsAnswer?: boolean;
  /**
   * Reads the calls that a start begins; the scanner stands after it, and undefined is the answer's beginning. False when it
   * was none after all: what is not read by then is text. Where the reading stands when it was one, text goes on.
   */
  read(context: CallContext, start: string | undefined): Reading<boolean>;
  /** What one call is, or several. Throws `SCHEMA_UNSUPPORTED` and as `schemaGrammar`. */
  rule(rules: CallRules): Rule;
  readonly write: CallWriter;
}

/** Reads a call whose opening was read, and all that follow it; false where the first was none. */
export function* readInTurn(
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

/** How a call ends that is not whole. */
export function brokenEnd(scanner: Scanner): CallOutcome {
  return scanner.isAtEnd ? 'cut' : 'malformed';
}
