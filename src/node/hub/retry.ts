import { setTimeout as sleep } from 'node:timers/promises';
import { fail, isRocmforgeError, throwIfAborted } from '../../base/errors.ts';
import type { HttpAnswer } from './http-client.ts';
import { withoutQuery } from './http-client.ts';

/** How patiently a failing server is asked again. */
export interface Patience {
  /** Failures in a row, without any byte in between, before it is given up. */
  readonly attempts: number;
  /** The first wait in milliseconds; it doubles with each failure. */
  readonly firstMs: number;
}

/** How work is repeated. */
export interface RetryOptions {
  readonly patience: Patience;
  readonly signal: AbortSignal;
  /** Called before each wait, with its failure and its length in milliseconds. */
  readonly onRetry?: ((error: unknown, waitMs: number) => void) | undefined;
}

/** About two minutes in all. */
export const DEFAULT_PATIENCE: Patience = { attempts: 8, firstMs: 500 };

const LONGEST_WAIT_MS = 30_000;
/** What a server asks for is followed up to this wait. */
const LONGEST_ASKED_MS = 10 * 60_000;

const TOO_MANY = 429;
const TRANSIENT = new Set([408, 425, TOO_MANY, 500, 502, 503, 504]);

/** Waits in milliseconds that servers asked for with the failures that tell of them. */
const askedWaits = new WeakMap<Error, number>();

/** Throws `HTTP_STATUS` for an answer that is of no use; a wait that it asks for (`Retry-After`) is kept for `backOff`. */
export function refuseStatus(answer: HttpAnswer, expected: number): never {
  answer.body.resume();
  try {
    return fail('HTTP_STATUS', { source: withoutQuery(answer.url), found: answer.status, expected });
  } catch (error) {
    const wait = retryAfter(answer.headers['retry-after']);
    if (wait !== undefined) askedWaits.set(error as Error, wait);
    throw error;
  }
}

/** Whether a status tells of a problem that may pass. */
export function mayPassStatus(status: number): boolean {
  return TRANSIENT.has(status);
}

/** Whether asking again may help: the connection broke, or the server has a temporary problem. */
function mayPass(error: unknown): boolean {
  if (isRocmforgeError(error, 'HTTP_STATUS')) return mayPassStatus(error.params.found);
  return ['READ_FAILED', 'READ_SHORT', 'SOURCE_UNAVAILABLE'].some(
    (code) => isRocmforgeError(error) && error.code === code,
  );
}

/**
 * Waits before the attempt after `failures` failures in a row: exponentially longer with jitter ("full jitter" of Brooker 2015,
 * half of it fixed), or as long as the server asked. Throws the failure if it will not pass, or patience has ended.
 */
export async function backOff(
  error: unknown,
  failures: number,
  { patience, signal, onRetry }: RetryOptions,
): Promise<void> {
  throwIfAborted(signal, 'downloading');
  if (!mayPass(error) || failures >= patience.attempts) throw error;
  const longest = Math.min(patience.firstMs * 2 ** (failures - 1), LONGEST_WAIT_MS);
  const asked = askedWaits.get(error as Error) ?? 0;
  const wait = Math.max(asked, longest / 2) + Math.random() * (longest / 2);
  onRetry?.(error, wait);
  await sleep(wait, undefined, { signal }).catch(() => {});
  throwIfAborted(signal, 'downloading');
}

/** Repeats work that may fail for a while. Rejects with its last failure. */
export async function retried<T>(work: () => Promise<T>, options: RetryOptions): Promise<T> {
  for (let failures = 1; ; failures++) {
    try {
      return await work();
    } catch (error) {
      await backOff(error, failures, options);
    }
  }
}

/** Seconds or a date (RFC 9110, section 10.2.3), as milliseconds from now. */
function retryAfter(header: string | undefined): number | undefined {
  if (header === undefined) return undefined;
  const wait = /^\d+$/.test(header.trim()) ? Number(header) * 1000 : Date.parse(header) - Date.now();
  return Number.isFinite(wait) ? Math.min(Math.max(0, wait), LONGEST_ASKED_MS) : undefined;
}
