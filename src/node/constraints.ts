import { WorkerConstraints } from '../text/index.ts';
import { nodeWorkerHost } from './worker-host.ts';
import { packageFile } from './package-file.ts';

const WORKER = '../bin/constraint-worker.js';

let shared: WorkerConstraints | undefined;

/** The process's constraints, on their own thread, which starts on first use and does not keep the process alive. */
export function sharedConstraints(): WorkerConstraints {
  shared ??= new WorkerConstraints(nodeWorkerHost(packageFile(WORKER, import.meta.url), 1));
  return shared;
}
