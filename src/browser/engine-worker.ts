import { runEngineServer } from './engine-server.ts';
import { ownWorkerPort } from './worker-host.ts';

/** Entry point of the worker that runs a page's model. */
runEngineServer(ownWorkerPort());
