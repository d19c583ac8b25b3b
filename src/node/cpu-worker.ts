import { runCpuWorker } from '../devices/cpu/worker/index.ts';
import { ownWorkerPort } from './worker-port.ts';

/** Entry point of the CPU device's worker threads. */
runCpuWorker(ownWorkerPort());
