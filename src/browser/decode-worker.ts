import { runDecodeWorker } from '../devices/cpu/decoding/decode-worker.ts';
import { ownWorkerPort } from './worker-host.ts';

/** Entry point of the workers that decode weights during loading. */
runDecodeWorker(ownWorkerPort());
