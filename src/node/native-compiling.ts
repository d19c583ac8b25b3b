import { fork } from 'node:child_process';
import type { LogFields, Logger } from '../base/log.ts';
import { packageFile } from './package-file.ts';

const MAIN = '../bin/native-compile-process.js';

/** A message of the process that compiles: what it did, or why it could not. */
export type CompileNote =
  | { readonly kind: 'debug'; readonly message: string; readonly fields: LogFields }
  | { readonly kind: 'failed'; readonly reason: string };

/** Kernels that are being compiled. */
export interface CompilingElsewhere {
  /** Whether it succeeded: the log says what happened. Never rejects. */
  readonly done: Promise<boolean>;
  /** Sets whether it keeps this process alive. */
  hold(held: boolean): void;
}

/**
 * Starts a process that compiles the CPU's native kernels into the cache. It keeps nobody alive and outlives this process: a program
 * that runs for a second leaves the kernels to the next one.
 */
export function compileElsewhere(
  { variant }: { readonly variant?: string | undefined },
  logger: Logger,
): CompilingElsewhere {
  const child = fork(packageFile(MAIN, import.meta.url), variant === undefined ? [] : [variant], {
    detached: true,
    serialization: 'advanced',
    execArgv: [],
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  const hold = (held: boolean) => {
    for (const handle of [child, child.channel]) {
      if (held) handle?.ref();
      else handle?.unref();
    }
  };
  hold(false);
  const done = new Promise<boolean>((resolve) => {
    const failed = (reason: string) => {
      logger.debug('native kernels are not available', { reason });
      resolve(false);
    };
    child.on('message', (note: CompileNote) => {
      if (note.kind === 'debug') logger.debug(note.message, note.fields);
      else failed(note.reason);
    });
    child.on('error', (error) => failed(error.message));
    child.on('exit', (code, signal) => {
      if (code === 0) resolve(true);
      else failed(`the process that compiles them ended with ${signal ?? `code ${code}`}`);
    });
  });
  return { done, hold };
}
