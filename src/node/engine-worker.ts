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

// Any model needs these; they are read while the other side finds out what to load.
for (const code of [import('../engine/language-model.ts'), import('../model/architectures/index.ts')]) {
  // What keeps them from being read is told when they are needed.
  code.catch(() => {});
}
