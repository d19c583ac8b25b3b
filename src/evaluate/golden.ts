import { fail } from '../base/errors.ts';

/** A token id with its logit. */
export type RankedLogit = readonly [id: number, logit: number];

/**
 * A reference program's results for one sequence: for each of the positions `from .. ids.length - 1` the log-sum-exp of
 * the logits, the best logits in descending order and, except for the last position, the logit of the token that
 * follows.
 */
export interface GoldenSequence {
  readonly ids: readonly number[];
  readonly from: number;
  readonly lse: readonly number[];
  readonly top: readonly (readonly RankedLogit[])[];
  readonly next: readonly number[];
  /** The reference's greedy continuation after the last id; empty if not requested. */
  readonly greedy: readonly number[];
}

/** Reads a golden file: one JSON object per line. Throws `GOLDEN_INVALID`. */
export function parseGolden(text: string): GoldenSequence[] {
  const sequences = text
    .split('\n')
    .map((line, index) => ({ line: line.trim(), number: index + 1 }))
    .filter(({ line }) => line !== '')
    .map(({ line, number }) => parseLine(line, number));
  if (sequences.length === 0) fail('GOLDEN_INVALID', { line: 1, found: 'nothing', expected: 'a sequence' });
  return sequences;
}

function parseLine(line: string, number: number): GoldenSequence {
  const fields = new FieldReader(parseObject(line, number), number);
  const ids = fields.numbers('ids');
  const { from = 0 } = fields.of as { from?: unknown };
  fields.require(
    Number.isInteger(from) && (from as number) >= 0 && (from as number) < ids.length,
    `from ${String(from)}`,
    `0 to ${ids.length - 1}`,
  );
  const first = from as number;
  const positions = ids.length - first;
  return {
    ids,
    from: first,
    lse: fields.numbers('lse', positions),
    top: fields.ranked('top', positions),
    next: fields.numbers('next', positions - 1),
    greedy: fields.of.greedy === undefined ? [] : fields.numbers('greedy'),
  };
}

function parseObject(line: string, number: number): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value === 'object' && value !== null) return value as Record<string, unknown>;
  } catch {
    // Reported below: what the line contains matters more than the JSON error.
  }
  return fail('GOLDEN_INVALID', { line: number, found: line.slice(0, 40), expected: 'a JSON object' });
}

/** Takes typed arrays of a stated length out of a parsed line. */
class FieldReader {
  constructor(
    readonly of: Record<string, unknown>,
    readonly line: number,
  ) {}

  numbers(name: string, length?: number): number[] {
    const values = this.#array(name, length);
    this.require(
      values.every((value) => Number.isFinite(value)),
      `${name} with something else`,
      'numbers only',
    );
    return values as number[];
  }

  ranked(name: string, length: number): RankedLogit[][] {
    const rows = this.#array(name, length);
    const isPair = (pair: unknown): boolean =>
      Array.isArray(pair) && pair.length === 2 && pair.every((value) => Number.isFinite(value));
    const valid = rows.every((row) => Array.isArray(row) && row.length > 0 && row.every(isPair));
    this.require(valid, `${name} with something else`, '[id, logit] pairs only');
    return rows as RankedLogit[][];
  }

  require(valid: boolean, found: string, expected: string): void {
    if (!valid) fail('GOLDEN_INVALID', { line: this.line, found, expected });
  }

  #array(name: string, length?: number): unknown[] {
    const value = this.of[name];
    const found = Array.isArray(value) ? `${value.length} values of ${name}` : `no list ${name}`;
    const expected = length === undefined ? `a list ${name}` : `${length}`;
    this.require(
      Array.isArray(value) && (length === undefined ? value.length > 0 : value.length === length),
      found,
      expected,
    );
    return value as unknown[];
  }
}
