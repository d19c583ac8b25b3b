import { type FileHandle, open, readFile, rm } from 'node:fs/promises';
import { type ByteRange, ByteRanges } from './byte-ranges.ts';

const VERSION = 1;

/** Which version of a file a journal is about. */
export interface JournalIdentity {
  readonly size: number;
  /** Its hash, or what its server tells versions apart by. */
  readonly version: string;
}

/**
 * Which bytes of an unfinished download are on disk: a line that identifies the file, then a line for each range, appended
 * after the range was synced to disk. A last line that was cut off counts for nothing.
 */
export class DownloadJournal {
  readonly #handle: FileHandle;
  /** What is on disk. */
  readonly synced: ByteRanges;

  private constructor(handle: FileHandle, synced: ByteRanges) {
    this.#handle = handle;
    this.synced = synced;
  }

  /** Continues the journal at `path` if it is about the same file, otherwise begins a new one. Rejects with errors of files. */
  static async open(path: string, identity: JournalIdentity): Promise<DownloadJournal> {
    const known = await readJournal(path);
    const isSame = known?.identity.size === identity.size && known.identity.version === identity.version;
    if (known && isSame) {
      // Without what a line that was cut off would be joined to.
      const handle = await open(path, 'r+');
      await handle.truncate(known.length);
      const appending = await open(path, 'a');
      await handle.close();
      return new DownloadJournal(appending, known.ranges);
    }
    const handle = await open(path, 'w');
    await handle.write(`${JSON.stringify({ journal: VERSION, ...identity })}\n`);
    await handle.sync();
    return new DownloadJournal(handle, new ByteRanges());
  }

  /** Notes ranges that have been synced to disk. */
  async append(ranges: Iterable<ByteRange>): Promise<void> {
    const lines = Array.from(ranges, ([start, end]) => `${start} ${end}\n`).join('');
    if (lines === '') return;
    await this.#handle.write(lines);
    await this.#handle.datasync();
    for (const line of lines.trimEnd().split('\n')) {
      const [start, end] = line.split(' ').map(Number) as [number, number];
      this.synced.add(start, end);
    }
  }

  close(): Promise<void> {
    return this.#handle.close();
  }
}

/** What a journal says; undefined if there is none that can be read. */
export async function readJournal(
  path: string,
): Promise<{ identity: JournalIdentity; ranges: ByteRanges; length: number } | undefined> {
  const text = await readFile(path, 'latin1').catch(() => '');
  const [head = '', ...lines] = text.split('\n');
  let identity: JournalIdentity;
  try {
    const { journal, size, version } = JSON.parse(head) as Record<string, unknown>;
    if (journal !== VERSION || typeof size !== 'number' || typeof version !== 'string') return undefined;
    identity = { size, version };
  } catch {
    return undefined;
  }
  if (lines.length === 0) return undefined;
  const ranges = new ByteRanges();
  let length = head.length + 1;
  // What follows the last line break was cut off.
  for (const line of lines.slice(0, -1)) {
    const [, start, end] = /^(\d{1,16}) (\d{1,16})$/.exec(line) ?? [];
    if (end === undefined || Number(end) > identity.size) break;
    ranges.add(Number(start), Number(end));
    length += line.length + 1;
  }
  return { identity, ranges, length };
}

/** Removes an unfinished download. */
export async function discardDownload({
  part,
  journal,
}: {
  readonly part: string;
  readonly journal: string;
}): Promise<void> {
  // The journal first: bytes without a journal count for nothing, a journal without bytes would lie.
  await rm(journal, { force: true });
  await rm(part, { force: true });
}
