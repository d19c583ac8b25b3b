import { Socket } from 'node:net';
import { openDevice, type DeviceRequest } from './devices.ts';
import { openModelFile } from './model-file.ts';
import { ServedWorker } from './served-worker.ts';
import { SocketChannel } from './socket-channel.ts';
import { sharedTerms } from './worker-terms.ts';

/** The pipe to the process that started this one. */
const PIPE = 3;

/**
 * The main function of a process that another one started to serve it a device: it ends with that one, which ends it when it is
 * interrupted itself.
 */
async function main(): Promise<void> {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
  const [request, deadline] = JSON.parse(process.argv[2] ?? '[]') as [DeviceRequest, number];
  const worker = new ServedWorker({
    terms: sharedTerms({ deadline }),
    open: () => openDevice(request),
    files: { open: openModelFile },
  });
  await worker.serve(new SocketChannel(new Socket({ fd: PIPE }), { address: 'the process that started it' }));
  await worker[Symbol.asyncDispose]();
}

await main();
process.exit(0);
