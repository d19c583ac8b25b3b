import { fail } from '../base/errors.ts';
import { Budget } from './budget.ts';
import type { Filter } from './filter.ts';
import { fromJavaScript } from './from-javascript.ts';
import { makeGlobals } from './globals.ts';
import { Interpreter } from './interpreter.ts';
import { JinjaError } from './jinja-error.ts';
import type { Statement } from './nodes.ts';
import { NUMBER_FILTERS } from './number-filters.ts';
import { parseTemplate } from './parser.ts';
import { Scope } from './scope.ts';
import { SEQUENCE_FILTERS } from './sequence-filters.ts';
import type { Spans } from './str.ts';
import { makeTests } from './tests.ts';
import { TEXT_FILTERS } from './text-filters.ts';

const filters: ReadonlyMap<string, Filter> = new Map(
  Object.entries({ ...TEXT_FILTERS, ...NUMBER_FILTERS, ...SEQUENCE_FILTERS }),
);
const library = { filters, tests: makeTests(filters) };

/** The output of a template. */
export interface Rendered {
  readonly text: string;
  /**
   * The spans that the template itself wrote: start and end of each, ascending, in UTF-16 units. All other characters
   * come from the variables.
   */
  readonly written: Spans;
}

/**
 * A Jinja2 template, rendered as by Python's Jinja2 in Hugging Face's environment for chat templates: sandboxed, with
 * `trim_blocks`, `lstrip_blocks`, `break` and `continue`, and their `tojson`, `raise_exception` and `strftime_now`.
 * Rendering is limited in steps, depth and size.
 */
export class JinjaTemplate {
  readonly #statements: readonly Statement[];

  /** Throws `CHAT_TEMPLATE_INVALID`. */
  constructor(source: string) {
    try {
      this.#statements = parseTemplate(source, library);
    } catch (error) {
      fail('CHAT_TEMPLATE_INVALID', { reason: reasonOf(error) }, error);
    }
  }

  /**
   * Renders with variables that are JSON or this module's wrappers for it. Throws `CHAT_TEMPLATE_REJECTED` if the
   * template itself rejects them, `CHAT_TEMPLATE_FAILED` for any other error.
   */
  render(variables: Readonly<Record<string, unknown>>, now: Date): Rendered {
    try {
      const budget = new Budget();
      const scope = new Scope(makeGlobals(now));
      for (const [name, value] of Object.entries(variables)) {
        if (value !== undefined) scope.set(name, fromJavaScript(value, budget));
      }
      return new Interpreter(library, budget, scope).run(this.#statements);
    } catch (error) {
      if (error instanceof JinjaError && error.kind === 'rejected') {
        fail('CHAT_TEMPLATE_REJECTED', { reason: error.message }, error);
      }
      fail('CHAT_TEMPLATE_FAILED', { reason: reasonOf(error) }, error);
    }
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof JinjaError)
    return error.line === undefined ? error.message : `line ${error.line}: ${error.message}`;
  // Engines have smaller stacks in some threads.
  if (error instanceof RangeError) return 'nested too deeply';
  throw error;
}
