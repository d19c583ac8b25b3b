import { WorkerConstraints } from '../text/index.ts';
import { nodeWorkerHost } from './worker-host.ts';

const WORKER = new URL('./constraint-worker.js', import.meta.url);

let shared: WorkerConstraints | undefined;

/** The process's constraints, on a thread of their own that starts at first use and keeps nobody from ending. */
export function sharedConstraints(): WorkerConstraints {
  shared ??= new WorkerConstraints(nodeWorkerHost(WORKER, 1));
  return shared;
}
