import { runDecodeWorker } from '../devices/cpu/decoding/decode-worker.ts';
import { ownWorkerPort } from './worker-port.ts';

/** Entry point of the threads that decode weights while loading. */
runDecodeWorker(ownWorkerPort());
