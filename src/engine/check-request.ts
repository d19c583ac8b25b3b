import { fail } from '../base/errors.ts';
import type { ContextShift } from '../runtime/sequence.ts';

/** Throws `PROMPT_EMPTY`, `CONTEXT_OVERFLOW` or `TOKEN_OUT_OF_RANGE` for ids that cannot be computed. */
export function checkIds(ids: readonly number[], of: { context: number; vocabulary: number }): void {
  const { context, vocabulary: size } = of;
  if (ids.length === 0) fail('PROMPT_EMPTY', {});
  if (ids.length > context) fail('CONTEXT_OVERFLOW', { tokens: ids.length, context });
  for (const id of ids) {
    if (!(Number.isInteger(id) && id >= 0 && id < size)) fail('TOKEN_OUT_OF_RANGE', { id, size });
  }
}

/** Throws `INVALID_ARGUMENT` for limits that are no numbers of tokens. */
export function checkLimits(of: { maxTokens: number; speculation: number | undefined }): void {
  for (const [name, value = 0] of Object.entries(of)) {
    if (value === Number.POSITIVE_INFINITY || (Number.isInteger(value) && value >= 0)) continue;
    fail('INVALID_ARGUMENT', { name, found: String(value), expected: 'a whole number of tokens' });
  }
}

/** Throws `INVALID_ARGUMENT` where a full context could not make room. */
export function checkShift(shift: ContextShift | undefined, context: number): void {
  const most = Math.floor(context / 2);
  if (!shift || (Number.isInteger(shift.keep) && shift.keep >= 0 && shift.keep <= most)) return;
  const expected = `a whole number of positions, at most ${most}`;
  fail('INVALID_ARGUMENT', { name: 'shift.keep', found: `${shift.keep}`, expected });
}
