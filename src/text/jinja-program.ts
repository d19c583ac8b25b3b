import { Environment, Interpreter, parse, tokenize } from '@huggingface/jinja';
import { fail } from '../base/errors.ts';
import { strftime } from './strftime.ts';

/** Longest `range(...)`, as in Jinja's sandbox: a template comes with a model, from anywhere. */
const LONGEST_RANGE = 100_000;

/** The part of Jinja's environment that is used here. */
interface Scope {
  set(name: string, value: unknown): unknown;
}

/** What a template threw by `raise_exception`. */
class Rejection extends Error {}

/** A parsed Jinja template with the globals of Hugging Face's chat templates. */
export class JinjaProgram {
  readonly #program: ReturnType<typeof parse>;

  /** Throws `CHAT_TEMPLATE_INVALID`. */
  constructor(source: string) {
    try {
      this.#program = parse(tokenize(source, { lstrip_blocks: true, trim_blocks: true }));
    } catch (error) {
      fail('CHAT_TEMPLATE_INVALID', { reason: messageOf(error) }, error);
    }
  }

  /** Throws `CHAT_TEMPLATE_REJECTED` for the template's own objections, `CHAT_TEMPLATE_FAILED` for all else. */
  render(variables: Readonly<Record<string, unknown>>, now: Date): string {
    try {
      const globals = new Environment();
      setGlobals(globals, now);
      const scope = new Environment(globals);
      for (const [name, value] of Object.entries(variables)) if (value !== undefined) scope.set(name, value);
      const result: { readonly value: unknown } = new Interpreter(scope).run(this.#program);
      return String(result.value);
    } catch (error) {
      if (error instanceof Rejection) fail('CHAT_TEMPLATE_REJECTED', { reason: error.message }, error);
      fail('CHAT_TEMPLATE_FAILED', { reason: messageOf(error) }, error);
    }
  }
}

function setGlobals(scope: Scope, now: Date): void {
  for (const name of ['true', 'True']) scope.set(name, true);
  for (const name of ['false', 'False']) scope.set(name, false);
  for (const name of ['none', 'None']) scope.set(name, null);
  scope.set('raise_exception', (message: unknown) => {
    throw new Rejection(String(message));
  });
  scope.set('strftime_now', (format: unknown) => strftime(now, String(format)));
  scope.set('range', range);
}

function range(first: number, second?: number, step = 1): number[] {
  const [start, stop] = second === undefined ? [0, first] : [first, second];
  const length = Math.max(0, Math.ceil((stop - start) / step));
  if (!(length <= LONGEST_RANGE)) throw new Error(`range of ${length}, at most ${LONGEST_RANGE} is allowed`);
  return Array.from({ length }, (_, i) => start + i * step);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
