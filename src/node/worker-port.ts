import { parentPort, receiveMessageOnPort } from 'node:worker_threads';
import { invariant } from '../base/errors.ts';
import type { WorkerPort } from '../device/index.ts';

/** A channel whose messages can be polled. */
export interface PolledPort extends WorkerPort {
  /** The next message that has arrived and was not delivered to a listener; undefined if there is none. */
  receive(): unknown;
}

/** The channel to the thread that started this worker thread. */
export function ownWorkerPort(): PolledPort {
  const port = parentPort;
  invariant(port, 'this module is run as a worker thread');
  return {
    post: (message) => port.postMessage(message),
    onMessage: (listener) => {
      port.on('message', listener);
    },
    receive: () => (receiveMessageOnPort(port) as { readonly message: unknown } | undefined)?.message,
  };
}
