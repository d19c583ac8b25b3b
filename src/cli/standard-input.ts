import { fail, throwIfAborted } from '../base/errors.ts';
import { timerSpan } from '../base/timer-span.ts';
import { textOfBytes } from './text-files.ts';

/** How long to wait for standard input. */
export interface StandardInputOptions {
  /** Maximum wait for the first data; undefined waits for the end. */
  readonly waitSeconds?: number | undefined;
  /** Called if nothing has arrived for a while: the program seems to do nothing then. */
  readonly onWaiting?: () => void;
  readonly signal: AbortSignal;
}

/** After this time, people wonder. */
const QUIET_MS = 1500;

/** All text of a pipe or file on standard input; undefined for a terminal, and if nothing arrives in time. */
export async function readStandardInput(options: StandardInputOptions): Promise<string | undefined> {
  const input = process.stdin;
  if (input.isTTY) return undefined;
  throwIfAborted(options.signal, 'reading standard input');
  const first = new AbortController();
  const { waitSeconds } = options;
  const timer =
    waitSeconds === undefined ? undefined : setTimeout(() => first.abort(), timerSpan(waitSeconds));
  const quiet = setTimeout(() => options.onWaiting?.(), QUIET_MS);
  const chunks: Uint8Array[] = [];
  try {
    const either = AbortSignal.any([options.signal, first.signal]);
    for await (const chunk of chunksOf(input, either)) {
      clearTimeout(timer);
      clearTimeout(quiet);
      chunks.push(chunk);
    }
  } catch (error) {
    throwIfAborted(options.signal, 'reading standard input');
    if (first.signal.aborted) return undefined;
    const reason = error instanceof Error ? error.message : String(error);
    fail('SOURCE_UNAVAILABLE', { source: 'standard input', reason }, error);
  } finally {
    clearTimeout(timer);
    clearTimeout(quiet);
  }
  return textOfBytes(Buffer.concat(chunks), 'what', 'standard input');
}

async function* chunksOf(input: NodeJS.ReadStream, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const stop = () => input.destroy(new Error('no longer wanted'));
  signal.addEventListener('abort', stop, { once: true });
  try {
    yield* input as AsyncIterable<Uint8Array>;
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

/** All of standard input, where a command has no other text. Rejects with `INVALID_ARGUMENT` if it is a terminal. */
export async function requireStandardInput(signal: AbortSignal): Promise<string> {
  const text = await readStandardInput({ signal });
  return (
    text ??
    fail('INVALID_ARGUMENT', { name: 'text', found: 'nothing', expected: 'an argument or standard input' })
  );
}
