import { runDecodeWorker } from '../devices/cpu/decoding/decode-worker.ts';
import { ownWorkerPort } from './worker-port.ts';

/** Entry of the threads that decode weights while they are loaded. */
runDecodeWorker(ownWorkerPort());
