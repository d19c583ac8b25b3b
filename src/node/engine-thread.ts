import type { WorkerHandle } from '../device/index.ts';
import { nodeWorkerHost } from './worker-host.ts';
import { packageFile } from './package-file.ts';

const WORKER = '../bin/engine-worker.js';

/** A thread that was started before a model needed it. */
let ahead: WorkerHandle | undefined;

/** Starts the thread of the next engine, so that it loads its code while the caller loads more of its own. */
export function startEngineThreadAhead(): void {
  ahead ??= start();
}

/** A thread for one engine, which ends it. */
export function engineThread(): WorkerHandle {
  const thread = ahead ?? start();
  ahead = undefined;
  return thread;
}

function start(): WorkerHandle {
  return nodeWorkerHost(packageFile(WORKER, import.meta.url), 1).start('engine');
}
