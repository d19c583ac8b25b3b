import { createServer, connect, type Socket } from 'node:net';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { Device } from '../../src/device/index.ts';
import {
  factsOf,
  greetClient,
  greetServer,
  type OwnFile,
  RemoteDevice,
  ServedDevice,
} from '../../src/devices/remote/index.ts';
import { SocketChannel } from '../../src/node/socket-channel.ts';

/** Terms that both sides of a test's connection have. */
export const TERMS = { secret: 'a secret of a test', version: 'test', deadline: 10_000 };

/** Two ends of a TCP connection of this process. */
export async function socketPair(): Promise<[Socket, Socket]> {
  const server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const [[accepted]] = await Promise.all([once(server, 'connection'), once(client, 'connect')]);
  server.close();
  return [client, accepted as Socket];
}

/** A remote device and, at the other end of a TCP connection in the same process, the device that is served. */
export async function servedPair(
  device: Device,
  address = 'a test',
  file?: OwnFile,
): Promise<{ readonly remote: RemoteDevice; readonly serving: Promise<Error>; readonly socket: Socket }> {
  const [near, far] = await socketPair();
  const greeting = greetClient(new SocketChannel(far, { address: 'the client' }), TERMS, () =>
    factsOf(device, file?.fingerprint),
  );
  const [greeted, served] = await Promise.all([
    greetServer(new SocketChannel(near, { address }), TERMS, { session: 'test' }),
    greeting.then((client) => ({ serving: ServedDevice.serve(device, client, { file }) })),
  ]);
  return { remote: new RemoteDevice({ ...greeted, here: true }), serving: served.serving, socket: near };
}
