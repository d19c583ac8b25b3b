import { TEXTS } from '../texts.ts';
import { ContextFull } from './engine.ts';

/** An error in words that can be kept. */
export interface Explanation {
  readonly message: string;
  /** What to do about it, if anything is known. */
  readonly fix: string | undefined;
}

/** Advice that is meant for those who start the program. */
const COMMAND_LINE = /(?:^|\s|\()--[a-z]/;

/** An error message, and advice if there is any that helps on a page. */
export function explain(error: unknown): Explanation {
  const { error: texts } = TEXTS;
  if (error instanceof ContextFull)
    return { message: texts.contextFull(error.tokens, error.context), fix: texts.contextFix };
  // What `fetch` throws, and its streams, says only in the browser's own words that the network failed.
  if (error instanceof TypeError) return { message: texts.lost, fix: texts.lostFix };
  // Something before the server answers in its place, or it is another kind of server.
  if (error instanceof SyntaxError) return { message: texts.unreadable, fix: texts.unreadableFix };
  if (!(error instanceof Error)) return { message: String(error), fix: undefined };
  const { code, fix } = error as Error & { readonly code?: unknown; readonly fix?: unknown };
  const own = typeof code === 'string' ? texts.fixes[code] : undefined;
  const given = typeof fix === 'string' && !COMMAND_LINE.test(fix) ? fix : undefined;
  return { message: error.message, fix: own ?? given };
}
