import { runConstraintWorker } from '../text/constrained/constraint-worker.ts';
import { ownWorkerPort } from './worker-port.ts';

/** Entry of the thread that holds texts to grammars. */
runConstraintWorker(ownWorkerPort());
