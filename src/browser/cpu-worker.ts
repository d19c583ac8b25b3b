import { runCpuWorker } from '../devices/cpu/worker/index.ts';
import { ownWorkerPort } from './worker-host.ts';

/** Entry point of the CPU device's workers. */
runCpuWorker(ownWorkerPort());
