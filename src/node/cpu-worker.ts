import { parentPort } from 'node:worker_threads';
import { invariant } from '../base/errors.ts';
import { runCpuWorker } from '../devices/cpu/worker/index.ts';

/** Entry of the CPU device's worker threads. */
const port = parentPort;
invariant(port, 'this module is run as a worker thread');
runCpuWorker({
  post: (message) => port.postMessage(message),
  onMessage: (listener) => {
    port.on('message', listener);
  },
});
