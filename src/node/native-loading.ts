import { setTimeout as sleep } from 'node:timers/promises';
import { workerData } from 'node:worker_threads';
import type koffiExports from 'koffi';

/**
 * Node aborts the process when a thread is ended while it registers native code, and when native code throws, or asks for its own
 * object, in a thread that is being ended. So a thread says when it does what may meet that: in a word of its own, and in those of the
 * threads above it, which end with everything that they started. A word counts what goes on, and has `ENDING` once nothing more may begin.
 */
const ENDING = 1 << 30;

const POLL_MS = 1;
/** A thread that died within native code, not ended by us, leaves its count behind. */
const LIMIT_MS = 10_000;

/** Shared by a thread and the one that ends it. */
export interface LoadingThread {
  /** The thread's own word, and those of the threads above it. */
  readonly nativeLoading: readonly Int32Array[];
}

/** This thread's words: of one that `loadingThread` knows nothing of, only its own. */
const words: readonly Int32Array[] = (workerData as Partial<LoadingThread> | null)?.nativeLoading ?? [
  newWord(),
];

/** How many calls this thread is within: those inside others, or beside one that is not over, need no leave. */
let own = 0;

let startsThreads = false;
/** This thread ends, with all that it started: what its last listeners call is met by nobody. */
let isLast = false;

/** What a new thread is told as its `workerData`. */
export function loadingThread(): LoadingThread {
  if (!startsThreads) process.once('exit', endLoadingNow);
  startsThreads = true;
  return { nativeLoading: [newWord(), ...words] };
}

/** Resolves when a thread may be ended: neither it nor one below it is within native code, or will be; or `isOver`. */
export async function endsLoading({ nativeLoading }: LoadingThread, isOver: () => boolean): Promise<void> {
  const limit = performance.now() + LIMIT_MS;
  while (!isOver() && !isEnding(nativeLoading, 0) && performance.now() < limit) await sleep(POLL_MS);
}

/** At the end of this thread, with which those end that it started. */
function endLoadingNow(): void {
  const limit = performance.now() + LIMIT_MS;
  const pause = newWord();
  while (!isEnding(words, Math.min(own, 1)) && performance.now() < limit) Atomics.wait(pause, 0, 0, POLL_MS);
  isLast = true;
}

/** Lets nothing more begin. True if no more goes on than what is meant to. */
function isEnding([word]: readonly Int32Array[], meant: number): boolean {
  return !word || (Atomics.or(word, 0, ENDING) & ~ENDING) === meant;
}

/** Loads koffi, an optional dependency. Rejects as `import` does; never settles in a thread that is being ended. */
export function importKoffi(): Promise<{ readonly default: typeof koffiExports }> {
  return whileLoading(() => import('koffi'));
}

/** Does what loads native code; the thread is not ended meanwhile. Never settles in a thread that is being ended. */
export async function whileLoading<T>(load: () => Promise<T>): Promise<T> {
  if (!begins()) return new Promise(() => {});
  try {
    return await load();
  } finally {
    ends();
  }
}

/**
 * Calls what native code offers of its own, such as opening libraries and binding functions; bound functions need no such care. The
 * thread is not ended meanwhile. Never returns in a thread that is being ended.
 */
export function natively<T>(call: () => T): T {
  if (!begins()) Atomics.wait(newWord(), 0, 0);
  try {
    return call();
  } finally {
    ends();
  }
}

/** False if this thread is being ended by another. */
function begins(): boolean {
  if (isLast) return true;
  if (own === 0) {
    let isFree = true;
    for (const word of words) isFree = (Atomics.add(word, 0, 1) & ENDING) === 0 && isFree;
    if (!isFree) return leave();
  }
  own++;
  return true;
}

function ends(): void {
  if (isLast) return;
  own--;
  if (own === 0) leave();
}

function leave(): false {
  for (const word of words) Atomics.sub(word, 0, 1);
  return false;
}

function newWord(): Int32Array {
  return new Int32Array(new SharedArrayBuffer(4));
}
