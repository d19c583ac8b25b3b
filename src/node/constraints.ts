import { WorkerConstraints } from '../text/index.ts';
import { nodeWorkerHost } from './worker-host.ts';

const WORKER = new URL('./constraint-worker.js', import.meta.url);

let shared: WorkerConstraints | undefined;

/** The process's constraints, on their own thread, which starts on first use and does not keep the process alive. */
export function sharedConstraints(): WorkerConstraints {
  shared ??= new WorkerConstraints(nodeWorkerHost(WORKER, 1));
  return shared;
}
