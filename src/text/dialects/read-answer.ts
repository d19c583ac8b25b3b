import type { AnswerContext, Dialect } from './dialect.ts';
import type { Reading } from './scanner.ts';

/** Parses an answer that is reasoning, then text and calls. */
export function* readAnswer(context: AnswerContext, dialect: Dialect): Reading<void> {
  const { scanner, emitText, tools } = context;
  const { reasoning, calls, ignored = [] } = dialect;
  const starts = tools.size > 0 ? (calls?.starts ?? []) : [];
  const opens = reasoning.isAnywhere ? [reasoning.open, reasoning.close] : [];
  let mark = yield* readBeginning(context, dialect);
  if (mark === undefined && calls?.beginsAnswer && tools.size > 0) {
    const before = scanner.place;
    if (!(yield* calls.read(context, undefined))) scanner.goTo(before);
  }
  for (;;) {
    mark ??= yield* scanner.until([...starts, ...ignored, ...opens], emitText);
    if (mark === undefined) return;
    if (opens.includes(mark)) mark = yield* readReasoning(context, dialect, mark);
    else {
      if (!ignored.includes(mark)) yield* readCalls(context, dialect, mark);
      mark = undefined;
    }
    scanner.forget();
  }
}

/** Parses everything before the text; returns the marker of a call that ended the reasoning. */
function* readBeginning(context: AnswerContext, dialect: Dialect): Reading<string | undefined> {
  const { scanner } = context;
  const { reasoning, ignored = [] } = dialect;
  for (;;) {
    const mark = yield* scanner.takeSpaced([reasoning.open, reasoning.close, ...ignored]);
    if (mark === undefined) return undefined;
    if (ignored.includes(mark)) continue;
    const call = yield* readReasoning(context, dialect, mark);
    if (call !== undefined || !reasoning.isAnywhere) return call;
  }
}

/**
 * Parses reasoning after its opening marker, and nothing after a closing one; returns the marker of a call that ended
 * it.
 */
function* readReasoning(
  context: AnswerContext,
  { reasoning, calls }: Dialect,
  mark: string,
): Reading<string | undefined> {
  context.markReasoning(mark !== reasoning.close);
  if (mark === reasoning.close) return undefined;
  const isEndedByCalls = reasoning.isEndedByCalls === true && context.tools.size > 0;
  const ends = [reasoning.close, ...(isEndedByCalls ? (calls?.starts ?? []) : [])];
  const end = yield* context.scanner.until(ends, context.emitReasoning);
  context.markReasoning(false);
  return end === reasoning.close ? undefined : end;
}

/** Parses calls after their opening marker; if they are not calls, they are text. */
function* readCalls(context: AnswerContext, { calls }: Dialect, start: string): Reading<void> {
  const { scanner } = context;
  const behind = scanner.place;
  if (calls && (yield* calls.read(context, start))) return;
  context.reportFault(scanner.isAtEnd ? 'cut' : 'malformed');
  const text = scanner.plain(behind - start.length, behind);
  scanner.goTo(behind);
  context.emitText(text);
}
