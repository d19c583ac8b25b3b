import { readFile } from 'node:fs/promises';
import { Option } from 'commander';
import { fail } from '../base/errors.ts';
import { createSink } from '../node/write-whole.ts';

/** The system message, itself or in a file. */
export interface SystemFlags {
  readonly system?: string | undefined;
  readonly systemFile?: string;
}

/** Which system message. */
export function systemOptions(): Option[] {
  return [
    new Option('--system <text>', 'system message').conflicts('systemFile'),
    new Option('--system-file <file>', 'a file with the system message'),
  ];
}

/** The system message of the flags. Rejects with `INVALID_ARGUMENT` for a file that cannot be read. */
export async function systemOf({ system, systemFile }: SystemFlags): Promise<string | undefined> {
  return systemFile === undefined ? system : messageOfFile(systemFile, '--system-file');
}

/** A message in a file that an option names, without the line break that editors put at the end. Rejects as `textOfFile`. */
export async function messageOfFile(path: string, option: string): Promise<string> {
  return (await textOfFile(path, option)).replace(/\r?\n$/, '');
}

/** The text of a file that an option names. Rejects with `INVALID_ARGUMENT` if it cannot be read, or is no text in UTF-8. */
export async function textOfFile(path: string, option: string): Promise<string> {
  const bytes = await readFile(path).catch((error: unknown) => {
    const found = error instanceof Error ? error.message : String(error);
    return fail('INVALID_ARGUMENT', { name: option, found, expected: 'a file that can be read' }, error);
  });
  return textOfBytes(bytes, `${path}, which`, option);
}

/** A text file. Rejects with `SOURCE_UNAVAILABLE`, or `INVALID_ARGUMENT` if it is no text in UTF-8. */
export async function readText(path: string): Promise<string> {
  const bytes = await readFile(path).catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error);
    return fail('SOURCE_UNAVAILABLE', { source: path, reason }, error);
  });
  return textOfBytes(bytes, `${path}, which`, 'text');
}

/** Writes a text file, or into a pipe. Rejects with `WRITE_FAILED`, or `ABORTED` while a pipe is waited for. */
export async function writeText(path: string, text: string, signal?: AbortSignal): Promise<void> {
  await using sink = await createSink(path, signal);
  await sink.write(Buffer.from(text));
}

/** A text in UTF-8, without a mark at its beginning. `found` begins what the error says. Throws `INVALID_ARGUMENT`. */
export function textOfBytes(bytes: Buffer, found: string, name: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    const isWide = /^(?:fffe|feff)/.test(bytes.toString('hex', 0, 2));
    const what = isWide ? 'in UTF-16, as PowerShell writes files' : 'no text';
    return fail('INVALID_ARGUMENT', { name, found: `${found} is ${what}`, expected: 'text in UTF-8' }, error);
  }
}
