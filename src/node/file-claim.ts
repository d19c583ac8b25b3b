import { createHash, randomBytes } from 'node:crypto';
import { mkdir, open, readdir, readFile, readlink, rm, stat, utimes } from 'node:fs/promises';
import { hostname } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fail, throwIfAborted } from '../base/errors.ts';

/** A claim that was not renewed for so long belongs to nobody any more. */
const STALE_MS = 60_000;
const RENEW_MS = 10_000;
const POLL_MS = 200;

/** How a claim is waited for. */
export interface ClaimOptions {
  readonly signal: AbortSignal;
  /** Called once if another process has the claim. */
  readonly onWait?: (() => void) | undefined;
}

/**
 * The right of one process to write a file: of all processes, on all machines that share the folder, one has it. Each that wants
 * it creates a file of a unique name and then looks for others; whoever finds one of a living process steps back, so that of two
 * at once at least one does. Files of dead processes are removed: their names say whose they were, and they are not renewed.
 */
export class FileClaim implements AsyncDisposable {
  readonly #path: string;
  readonly #renewing: NodeJS.Timeout;
  #isLost = false;

  private constructor(path: string) {
    this.#path = path;
    this.#renewing = setInterval(() => void this.#renew(), RENEW_MS);
    this.#renewing.unref();
  }

  /** Waits until this process alone has the claim named `path`. Rejects with `ABORTED` or `WRITE_FAILED`. */
  static async take(path: string, { signal, onWait }: ClaimOptions): Promise<FileClaim> {
    const folder = dirname(path);
    const own = `${basename(path)}.${await place()}.${process.pid}.${randomBytes(6).toString('hex')}`;
    let waits = 0;
    for (;;) {
      throwIfAborted(signal, 'waiting for another process');
      if (!(await isClaimed(path, undefined))) {
        await create(folder, own);
        if (!(await isClaimed(path, own))) return new FileClaim(join(folder, own));
        await rm(join(folder, own), { force: true });
      }
      if (waits++ === 0) onWait?.();
      await sleep(POLL_MS * (0.5 + Math.random()), undefined, { signal }).catch(() => {});
    }
  }

  /** Whether some process has the claim at this moment. */
  static isTaken(path: string): Promise<boolean> {
    return isClaimed(path, undefined);
  }

  /** Throws `DOWNLOAD_TAKEN_OVER` if this process stood still for so long that others took it for dead. */
  check(model: string): void {
    if (this.#isLost) fail('DOWNLOAD_TAKEN_OVER', { model });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#renewing);
    await rm(this.#path, { force: true });
  }

  async #renew(): Promise<void> {
    const now = new Date();
    await utimes(this.#path, now, now).catch(() => {
      this.#isLost = true;
    });
  }
}

async function create(folder: string, name: string): Promise<void> {
  const path = join(folder, name);
  try {
    await mkdir(folder, { recursive: true });
    await (await open(path, 'wx')).close();
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    fail('WRITE_FAILED', { path, reason }, cause);
  }
}

/** Whether a living process other than `own` claims the path. Removes what dead ones left. */
async function isClaimed(path: string, own: string | undefined): Promise<boolean> {
  const names = await readdir(dirname(path)).catch(() => []);
  const here = await place();
  for (const name of names) {
    if (!name.startsWith(`${basename(path)}.`) || name === own) continue;
    const [where, pid] = name.slice(basename(path).length + 1).split('.');
    const file = join(dirname(path), name);
    const renewed = await stat(file).then(
      ({ mtimeMs }) => mtimeMs,
      () => undefined,
    );
    if (renewed === undefined) continue;
    const isAlive = Date.now() - renewed < STALE_MS && (where !== here || isRunning(Number(pid)));
    if (isAlive) return true;
    await rm(file, { force: true });
  }
  return false;
}

/** Another user's process cannot be signalled, but it runs. */
function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

let placeName: Promise<string> | undefined;

/** Where process ids mean the same processes: a machine since its start, and on Linux the namespace (container). */
function place(): Promise<string> {
  placeName ??= (async () => {
    const boot = await readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => '');
    const namespace = await readlink('/proc/self/ns/pid').catch(() => '');
    return createHash('sha256').update(`${hostname()}\n${boot}\n${namespace}`).digest('hex').slice(0, 12);
  })();
  return placeName;
}
