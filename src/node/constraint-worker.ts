import { runConstraintWorker } from '../text/constrained/constraint-worker.ts';
import { ownWorkerPort } from './worker-port.ts';

/** Entry point of the thread for constraints. */
runConstraintWorker(ownWorkerPort());
