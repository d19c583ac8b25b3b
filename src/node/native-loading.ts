import { setTimeout as sleep } from 'node:timers/promises';
import { workerData } from 'node:worker_threads';
import type koffiExports from 'koffi';

/** What a thread says of itself: Node aborts the process if a thread is ended within the registration of native code. */
const STATE = { free: 0, loading: 1, ending: 2 } as const;
const POLL_MS = 1;

/** Shared by a thread and the one that ends it: an element of `STATE`. */
export interface LoadingThread {
  readonly nativeLoading: Int32Array;
}

/** What a new thread is told as its `workerData`. */
export function loadingThread(): LoadingThread {
  return { nativeLoading: new Int32Array(new SharedArrayBuffer(4)) };
}

/** Resolves when a thread may be ended: it loads no native code, and will not begin to, or `isOver`. */
export async function endsLoading({ nativeLoading }: LoadingThread, isOver: () => boolean): Promise<void> {
  const isLoading = () =>
    Atomics.compareExchange(nativeLoading, 0, STATE.free, STATE.ending) === STATE.loading;
  while (!isOver() && isLoading()) await sleep(POLL_MS);
}

/** Loads koffi, an optional dependency. Rejects as `import` does; never settles in a thread that is being ended. */
export function importKoffi(): Promise<{ readonly default: typeof koffiExports }> {
  return whileLoading(() => import('koffi'));
}

let loads = 0;

/** Does what loads native code; the thread is not ended meanwhile. */
export async function whileLoading<T>(load: () => Promise<T>): Promise<T> {
  const state = (workerData as Partial<LoadingThread> | null)?.nativeLoading;
  if (!state) return load();
  if (Atomics.compareExchange(state, 0, STATE.free, STATE.loading) === STATE.ending)
    return new Promise(() => {});
  loads++;
  try {
    return await load();
  } finally {
    loads--;
    if (loads === 0) Atomics.store(state, 0, STATE.free);
  }
}
