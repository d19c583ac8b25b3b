import { fail, isRocmforgeError } from '../../base/errors.ts';
import { inTurns } from '../../base/turns.ts';
import { BodyScan } from '../body-scan.ts';

/** A line of a batch: its number from 1, and its value, or what is wrong with it. */
export interface BatchLine {
  readonly number: number;
  readonly value?: Readonly<Record<string, unknown>>;
  readonly problem?: string;
}

/**
 * The lines of JSON in bytes that come in pieces, empty ones left out. Each is scanned as a request's body is before it is
 * parsed. Rejects with `REQUEST_TOO_LARGE` for a line of more than `maxBytes`.
 */
export async function* jsonLines(
  content: AsyncIterable<Uint8Array>,
  maxBytes: number,
): AsyncGenerator<BatchLine, void> {
  let number = 0;
  for await (const bytes of linesOf(content, maxBytes)) {
    number++;
    // Empty lines take their turns, too: there may be millions, of one byte each.
    const line = await parsed(bytes);
    if (bytes.length === 0 || (bytes.length === 1 && bytes[0] === CARRIAGE_RETURN)) continue;
    yield { number, ...line };
  }
}

const NEW_LINE = 10;
const CARRIAGE_RETURN = 13;

async function* linesOf(
  content: AsyncIterable<Uint8Array>,
  maxBytes: number,
): AsyncGenerator<Uint8Array, void> {
  let held: Uint8Array[] = [];
  let length = 0;
  const hold = (bytes: Uint8Array) => {
    length += bytes.length;
    if (length > maxBytes) fail('REQUEST_TOO_LARGE', { limit: maxBytes });
    // Whoever sends bytes may use their buffer again.
    if (bytes.length > 0) held.push(bytes.slice());
  };
  const line = () => {
    const whole = joined(held, length);
    held = [];
    length = 0;
    return whole;
  };
  for await (const bytes of content) {
    let from = 0;
    for (let end = bytes.indexOf(NEW_LINE); end >= 0; end = bytes.indexOf(NEW_LINE, from)) {
      hold(bytes.subarray(from, end));
      yield line();
      from = end + 1;
    }
    hold(bytes.subarray(from));
  }
  if (length > 0) yield line();
}

function joined(pieces: readonly Uint8Array[], length: number): Uint8Array {
  const whole = new Uint8Array(length);
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}

async function parsed(bytes: Uint8Array): Promise<Omit<BatchLine, 'number'>> {
  try {
    await inTurns(new BodyScan().take(bytes), 'reading a batch');
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes));
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      return { problem: 'the line is no JSON object' };
    }
    return { value: value as Readonly<Record<string, unknown>> };
  } catch (error) {
    return { problem: isRocmforgeError(error) ? error.message : 'the line is not JSON' };
  }
}
