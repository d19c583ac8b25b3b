import { serveEngine } from '../../src/engine/remote/serve-engine.ts';
import { loadModel } from '../../src/node/load-model.ts';
import type { WorkerLoad } from '../../src/node/load-model-in-worker.ts';
import { ownWorkerPort } from '../../src/node/worker-port.ts';

// Entry of an engine's thread that dies when a prompt begins with the token 13.

const DEADLY = 13;

const port = ownWorkerPort();
port.onMessage((message) => {
  const { name, asks } = message as { name?: string; asks?: { prompt: readonly number[] } };
  if (name !== 'begin' || asks?.prompt[0] !== DEADLY) return;
  // Outside whatever may be awaited, when the call has begun.
  setTimeout(() => {
    throw new Error('something that nobody expected');
  }, 0);
});
serveEngine<WorkerLoad>(port, ({ location, options }, of) => loadModel(location, { ...options, ...of }));
