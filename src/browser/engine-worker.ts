import { runEngineServer } from './engine-server.ts';
import { ownWorkerPort } from './worker-host.ts';

/** Entry of the worker that a page's model lives in. */
runEngineServer(ownWorkerPort());
