import { parentPort } from 'node:worker_threads';
import { invariant } from '../base/errors.ts';
import type { WorkerPort } from '../device/index.ts';

/** The channel to the thread that started this worker thread. */
export function ownWorkerPort(): WorkerPort {
  const port = parentPort;
  invariant(port, 'this module is run as a worker thread');
  return {
    post: (message) => port.postMessage(message),
    onMessage: (listener) => {
      port.on('message', listener);
    },
  };
}
