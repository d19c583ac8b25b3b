import { serveEngine } from '../engine/remote/serve-engine.ts';
import { shareHostMemory } from './host-memory.ts';
import { loadModel } from './load-model.ts';
import type { WorkerLoad } from './open-engine.ts';
import { ownWorkerPort } from './worker-port.ts';

/** Entry point of an engine's thread. */
serveEngine<WorkerLoad>(ownWorkerPort(), ({ location, options, hostMemory }, of) => {
  shareHostMemory(hostMemory);
  return loadModel(location, { ...options, ...of });
});

// Every model needs these; they are loaded while the other side determines what to load.
for (const code of [import('../engine/language-model.ts'), import('../model/architectures/index.ts')]) {
  // Errors of loading are reported when the code is needed.
  code.catch(() => {});
}
