import { runDecodeWorker } from '../devices/cpu/decoding/decode-worker.ts';
import { ownWorkerPort } from './worker-host.ts';

/** Entry of the workers that decode weights while they are loaded. */
runDecodeWorker(ownWorkerPort());
