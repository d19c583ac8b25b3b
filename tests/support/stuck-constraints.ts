import { parentPort } from 'node:worker_threads';
import { runConstraintWorker } from '../../src/text/index.ts';

/** A constraint thread that never answers for the pattern `stuck`, and ends for the pattern `dead`. */
const port = parentPort;
if (port) {
  runConstraintWorker({
    post: (message) => port.postMessage(message),
    onMessage: (listener) => {
      port.on('message', (message: { written?: string }) => {
        if (message.written?.includes('"stuck"')) for (;;);
        if (message.written?.includes('"dead"')) process.exit(3);
        listener(message);
      });
    },
  });
}
