import { serveEngine } from '../engine/remote/serve-engine.ts';
import { shareHostMemory } from './host-memory.ts';
import { loadModel } from './load-model.ts';
import type { WorkerLoad } from './load-model-in-worker.ts';
import { ownWorkerPort } from './worker-port.ts';

/** Entry of the thread that an engine has to itself. */
serveEngine<WorkerLoad>(ownWorkerPort(), ({ location, options, hostMemory }, of) => {
  shareHostMemory(hostMemory);
  return loadModel(location, { ...options, ...of });
});
