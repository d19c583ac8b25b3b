import { Environment, Interpreter, parse, tokenize } from '@huggingface/jinja';
import { fail } from '../base/errors.ts';
import { strftime } from './strftime.ts';

/** Longest `range(...)`, as in Jinja's sandbox: a template comes with a model, from anywhere. */
const LONGEST_RANGE = 100_000;

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
      const environment = new Environment(globals(now));
      for (const [name, value] of Object.entries(variables)) {
        if (value !== undefined) environment.set(name, value);
      }
      return String(new Interpreter(environment).run(this.#program).value);
    } catch (error) {
      if (error instanceof Rejection) fail('CHAT_TEMPLATE_REJECTED', { reason: error.message }, error);
      fail('CHAT_TEMPLATE_FAILED', { reason: messageOf(error) }, error);
    }
  }
}

function globals(now: Date): Environment {
  const environment = new Environment();
  for (const [names, value] of [
    [['true', 'True'], true],
    [['false', 'False'], false],
    [['none', 'None'], null],
  ] as const) {
    for (const name of names) environment.set(name, value);
  }
  environment.set('raise_exception', (message: unknown) => {
    throw new Rejection(String(message));
  });
  environment.set('strftime_now', (format: unknown) => strftime(now, String(format)));
  environment.set('range', range);
  return environment;
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
