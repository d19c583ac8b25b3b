import { runCpuWorker } from '../devices/cpu/worker/index.ts';
import { loadKoffiFfi } from './koffi-ffi.ts';
import { ownWorkerPort } from './worker-port.ts';

/** Entry point of the CPU device's worker threads. */
runCpuWorker(ownWorkerPort(), loadKoffiFfi);
