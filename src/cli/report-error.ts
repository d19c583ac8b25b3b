import { isRocmforgeError } from '../base/errors.ts';
import type { CommandContext } from './command.ts';
import { EXIT, type ExitCode } from './exit-codes.ts';
import type { Output } from './output.ts';
import { printable } from './table.ts';

/** Prints why a command failed and chooses the exit code. A stack is shown for internal errors and with `--log`. */
export function reportError(
  error: unknown,
  json: boolean,
  { output, flags, interruption }: CommandContext,
): ExitCode {
  const { ended } = interruption;
  if (ended !== undefined && (isRocmforgeError(error, 'ABORTED') || isAbort(error))) return ended;
  const typed = isRocmforgeError(error) ? error : undefined;
  const message = error instanceof Error ? error.message : String(error);
  if (json) {
    output.warn(JSON.stringify({ error: typed ?? { code: 'UNEXPECTED', message } }));
  } else {
    output.warn(describeError(error, output));
  }
  const isBug = typed === undefined || typed.code === 'INTERNAL';
  if (error instanceof Error && (isBug || flags.log)) output.warn(stackOf(error));
  return typed?.code === 'INVALID_ARGUMENT' ? EXIT.usage : EXIT.failure;
}

/** What went wrong and what to do about it, for people. */
export function describeError(error: unknown, output: Output): string {
  const said = error instanceof Error ? error.message : String(error);
  // The message may contain text from files and servers.
  const lines = said.split('\n').map(printable).join('\n');
  const message = `${output.styled('red', 'error:')} ${lines}`;
  return isRocmforgeError(error) ? `${message}\n${output.styled('cyan', 'fix:')}   ${error.fix}` : message;
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === 'AbortError';
}

function stackOf(error: Error): string {
  const frames = error.stack ?? String(error);
  return error.cause instanceof Error ? `${frames}\ncaused by ${stackOf(error.cause)}` : frames;
}
