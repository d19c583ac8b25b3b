export type { ByteChannel } from './byte-channel.ts';
export {
  checkSecret,
  greetClient,
  type Greeted,
  type Login,
  greetServer,
  MIN_SECRET,
  type SharedTerms,
} from './handshake.ts';
export { RemoteDevice, type RemoteDeviceSetup } from './remote-device.ts';
export { factsOf, type RemoteFacts } from './remote-facts.ts';
export { type OwnFile, type OwnFiles, ServedDevice } from './served-device.ts';
