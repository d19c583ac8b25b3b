import { randomUUID } from 'node:crypto';
import { fail } from '../base/errors.ts';
import { timerSpan } from '../base/timer-span.ts';
import { checkSecret, type SharedTerms } from '../devices/remote/index.ts';
import { packageVersion } from './package-root.ts';

/** The environment variable with the secret of workers, for whoever gives none. */
export const SECRET_VARIABLE = 'ROCMFORGE_WORKER_SECRET';

/** The port on which workers listen. */
export const WORKER_PORT = 7979;

const DEADLINE_SECONDS = 30;

/** What a worker and those who use it have to have in common. */
export interface WorkerTerms {
  /** At least 16 characters, which whoever connects has to know. Default: the environment's `ROCMFORGE_WORKER_SECRET`. */
  readonly secret?: string | undefined;
  /** Seconds after which a silent side counts as hung, and the connection as cut. Default 30. */
  readonly deadline?: number | undefined;
}

/** Checks them. Throws `INVALID_ARGUMENT`. */
export function sharedTerms({ secret, deadline = DEADLINE_SECONDS }: WorkerTerms): SharedTerms {
  const given = secret ?? process.env[SECRET_VARIABLE];
  if (given === undefined || given === '') {
    const expected = `one, such as that of the environment's ${SECRET_VARIABLE}: nobody else may use the device`;
    fail('INVALID_ARGUMENT', { name: 'the secret of workers', found: 'none', expected });
  }
  checkSecret(given);
  if (!(deadline > 0)) {
    fail('INVALID_ARGUMENT', { name: 'deadline', found: String(deadline), expected: 'seconds, more than 0' });
  }
  return { secret: given, version: packageVersion(), deadline: timerSpan(deadline) };
}

/** Terms that this process shares with one that it starts, and with nobody else. */
export function ownTerms({ deadline }: WorkerTerms): SharedTerms {
  return sharedTerms({ secret: randomUUID() + randomUUID(), deadline });
}

/** `host:port` or `[host]:port`, or a host alone. Throws `INVALID_ARGUMENT`. */
export function parseAddress(text: string): { readonly host: string; readonly port: number } {
  const [, bracketed, plain, digits] = /^(?:\[([^\]\s]+)\]|([^:[\]\s]+))(?::(\d{1,5}))?$/.exec(text) ?? [];
  const host = bracketed ?? plain;
  const port = digits === undefined ? WORKER_PORT : Number(digits);
  if (host !== undefined && port <= 65535) return { host, port };
  const expected = `host:port, or a host alone for port ${WORKER_PORT}`;
  return fail('INVALID_ARGUMENT', { name: 'the address of a worker', found: text, expected });
}
