import { randomUUID } from 'node:crypto';
import { link, readFile, realpath, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { fail } from '../base/errors.ts';

/** The file that says whose a folder is. */
export const LOCK_FILE = '.lock';

/** How often a lock is renewed, and after how long one of another machine counts as abandoned. */
const RENEW_MS = 5000;
const ABANDONED_MS = 30_000;

/** What a lock says of its holder. */
interface Holder {
  readonly token: string;
  readonly pid: number;
  readonly host: string;
}

/** The folders that this process holds. */
const held = new Set<string>();

/**
 * A folder that only one process uses at a time. Node has no locks of the system that end with their process: the lock is
 * a file that names its holder, which is replaced if that process is gone, or, on another machine, has not renewed it for
 * a while.
 */
export class FolderLock implements AsyncDisposable {
  readonly #path: string;
  readonly #token: string;
  readonly #folder: string;
  readonly #renewal: ReturnType<typeof setInterval>;
  #isReleased = false;

  private constructor(folder: string, token: string) {
    this.#folder = folder;
    this.#path = join(folder, LOCK_FILE);
    this.#token = token;
    this.#renewal = setInterval(() => {
      const now = new Date();
      // What cannot be renewed now is renewed the next time.
      utimes(this.#path, now, now).catch(() => {});
    }, RENEW_MS).unref();
  }

  /** Takes a folder that exists. Rejects with `FOLDER_IN_USE` and `WRITE_FAILED`. */
  static async take(given: string): Promise<FolderLock> {
    const folder = await realpath(given);
    const path = join(folder, LOCK_FILE);
    const own: Holder = { token: randomUUID(), pid: process.pid, host: hostname() };
    if (held.has(folder)) fail('FOLDER_IN_USE', { folder: given, holder: 'this process' });
    held.add(folder);
    try {
      while (!(await created(path, own))) await removeAbandoned(path, given);
      return new FolderLock(folder, own.token);
    } catch (error) {
      held.delete(folder);
      throw error;
    }
  }

  /** Gives the folder back. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#isReleased) return;
    this.#isReleased = true;
    clearInterval(this.#renewal);
    held.delete(this.#folder);
    const found = await holderOf(this.#path);
    if (found?.token === this.#token) await rm(this.#path, { force: true });
  }
}

/** Creates the lock; false if there is one. Rejects with `WRITE_FAILED`. */
async function created(path: string, own: Holder): Promise<boolean> {
  try {
    await writeFile(path, JSON.stringify(own), { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    const reason = error instanceof Error ? error.message : String(error);
    return fail('WRITE_FAILED', { path, reason }, error);
  }
}

/** Removes the lock of a process that is gone. Rejects with `FOLDER_IN_USE` if it is not. */
async function removeAbandoned(path: string, folder: string): Promise<void> {
  const age = await ageOf(path);
  if (age === undefined) return;
  const found = await holderOf(path);
  if (!isAbandoned(found, age)) {
    const holder = found ? `process ${found.pid} of ${found.host}` : 'a process that has just begun';
    fail('FOLDER_IN_USE', { folder, holder });
  }
  // Of several that find it abandoned, only one moves this file: whoever moves a newer one puts it back.
  const aside = `${path}.${randomUUID()}`;
  await rename(path, aside).catch(() => {});
  const moved = await holderOf(aside);
  if (moved?.token !== found?.token) await link(aside, path).catch(() => {});
  await rm(aside, { force: true });
}

function isAbandoned(holder: Holder | undefined, age: number): boolean {
  if (holder?.host !== hostname()) return age > ABANDONED_MS;
  // A restarted container may have the process id of the one before.
  if (holder.pid === process.pid) return true;
  try {
    process.kill(holder.pid, 0);
    return false;
  } catch (error) {
    // Another user's process cannot be signalled, but is there.
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
}

/** Milliseconds since the file was renewed; undefined if there is none. */
async function ageOf(path: string): Promise<number | undefined> {
  try {
    return Date.now() - (await stat(path)).mtimeMs;
  } catch {
    return undefined;
  }
}

/** What a lock says; undefined if it does not say it yet, or is none. */
async function holderOf(path: string): Promise<Holder | undefined> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as Holder;
  } catch {
    return undefined;
  }
}
