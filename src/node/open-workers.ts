import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { fail, throwIfAborted } from '../base/errors.ts';
import type { Device } from '../device/index.ts';
import { modelFingerprint } from '../engine/model-fingerprint.ts';
import type { GgufFile } from '../gguf/index.ts';
import { checkSecret, greetServer, RemoteDevice, type SharedTerms } from '../devices/remote/index.ts';
import type { CpuKernels } from './cpu-kernels.ts';
import { packageFile } from './package-file.ts';
import { SocketChannel, type SocketChannelOptions } from './socket-channel.ts';
import { ownTerms, parseAddress, SECRET_VARIABLE, sharedTerms, type WorkerTerms } from './worker-terms.ts';

const PROCESS = '../bin/worker-process.js';
/** What says that a worker is a process of its own on this host. */
const OWN_PROCESS = /^process(?:=(.+))?$/;

/** Milliseconds for a connection, and for a process to say how it ended. */
const CONNECT_MS = 10_000;
const EXIT_MS = 1000;
/** What is aborted, for messages. */
const OPENING = 'opening workers';

/** Milliseconds for a process to end by itself. */
const END_MS = 3000;

/** How workers are reached. */
export interface WorkersRequest extends WorkerTerms {
  /** What the processes that are started here open, besides their device. */
  readonly request: { readonly threads?: number | undefined; readonly cpuKernels?: CpuKernels | undefined };
  /** Names what the workers are used for. */
  readonly session: string;
  /** Gives up those that have not answered yet. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Opens devices of other processes: of workers that listen at `host:port`, and of processes that are started here (`process`, or
 * `process=cuda:1` for a device) and end with their device. All or none. Rejects with `DEVICE_UNAVAILABLE`, `REMOTE_REFUSED`,
 * `INVALID_ARGUMENT` or `ABORTED`.
 */
export async function openWorkers(
  workers: readonly string[],
  how: WorkersRequest,
): Promise<readonly RemoteDevice[]> {
  // One that no process which is started here needs, too.
  if (how.secret !== undefined) checkSecret(how.secret);
  const opened = await Promise.allSettled(workers.map((worker) => openWorker(worker, how)));
  const devices = opened.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  const failed = opened.find((one) => one.status === 'rejected');
  if (!failed) return devices;
  await Promise.all(devices.map((device) => device[Symbol.asyncDispose]()));
  throw failed.reason;
}

/**
 * Has workers read the model's weights from files of their own: those that were started here from its `path`, if it has one, and others
 * that have a file. Rejects with `REMOTE_REFUSED` if that is one of another model, and with errors of reading.
 */
export async function useOwnFiles(
  { devices = [] }: Device,
  { gguf, path }: { readonly gguf: GgufFile; readonly path: string | undefined },
): Promise<void> {
  const workers = devices.filter((device) => device instanceof RemoteDevice);
  for (const worker of workers) if (worker.here && path !== undefined) await worker.openFile(path);
  const reading = workers.filter(({ model }) => model !== undefined);
  if (reading.length === 0) return;
  const fingerprint = await modelFingerprint(gguf, {});
  for (const worker of reading) worker.useOwnFile(fingerprint, gguf.tensors);
}

/** Whether a worker is a process that is started here. */
export function startedHere(worker: string): boolean {
  return OWN_PROCESS.test(worker);
}

/** Throws `INVALID_ARGUMENT` for an address that is none, and for two of the same worker, which serves one program at a time. */
export function checkAddresses(workers: readonly string[]): void {
  const known = new Map<string, string>();
  for (const worker of workers.filter((text) => !startedHere(text))) {
    const { host, port } = parseAddress(worker);
    const address = `${host.toLowerCase()} ${port}`;
    const other = known.get(address);
    if (other !== undefined) {
      const expected = 'addresses of different workers: `rocmforge worker` with a --port of its own for each';
      fail('INVALID_ARGUMENT', { name: 'workers', found: `${other} and ${worker}`, expected });
    }
    known.set(address, worker);
  }
}

async function openWorker(worker: string, how: WorkersRequest): Promise<RemoteDevice> {
  const { session, signal } = how;
  throwIfAborted(signal, OPENING);
  const own = OWN_PROCESS.exec(worker);
  if (own) return await startProcess(own[1] ?? 'auto', how);
  const { host, port } = parseAddress(worker);
  const terms = sharedTerms(how);
  const socket = await connectTo(host, port, signal);
  return await greet(socket, { address: worker }, { terms, session, signal });
}

async function connectTo(host: string, port: number, signal: AbortSignal | undefined): Promise<Socket> {
  const socket = connect({ host, port });
  const timer = AbortSignal.timeout(CONNECT_MS);
  try {
    await once(socket, 'connect', { signal: signal ? AbortSignal.any([timer, signal]) : timer });
    return socket;
  } catch (error) {
    socket.destroy();
    throwIfAborted(signal, OPENING);
    const found = timer.aborted ? `no answer within ${CONNECT_MS / 1000} s` : messageOf(error);
    const why = `${found}; is \`rocmforge worker\` running there, with this --host and --port, and does a firewall let it be reached?`;
    return fail('DEVICE_UNAVAILABLE', { device: `${host}:${port}`, why }, error);
  }
}

async function startProcess(
  device: string,
  { request, session, signal, ...how }: WorkersRequest,
): Promise<RemoteDevice> {
  const terms = ownTerms(how);
  const argument = JSON.stringify([{ ...request, device }, terms.deadline / 1000]);
  const child = spawn(process.execPath, [fileURLToPath(packageFile(PROCESS, import.meta.url)), argument], {
    env: { ...process.env, [SECRET_VARIABLE]: terms.secret },
    stdio: ['ignore', 'ignore', 'inherit', 'pipe'],
  });
  const exited = exitOf(child);
  const socket = child.stdio[3] as Socket;
  const channel: SocketChannelOptions = {
    address: child.pid === undefined ? 'a process' : `process ${child.pid}`,
    whyEnded: () => Promise.race([exited, setTimeout(EXIT_MS, undefined, { ref: false })]),
    onHold: (held) => (held ? child.ref() : child.unref()),
    onClose: () => endProcess(child, exited),
  };
  return await greet(socket, channel, { terms, session, signal, isStarting: true });
}

/** How a worker is greeted. */
interface Greeting extends Pick<WorkersRequest, 'session' | 'signal'> {
  readonly terms: SharedTerms;
  readonly isStarting?: boolean;
}

async function greet(
  socket: Socket,
  options: SocketChannelOptions,
  { terms, session, signal, isStarting = false }: Greeting,
): Promise<RemoteDevice> {
  const channel = new SocketChannel(socket, options);
  const giveUp = () => void channel.close();
  signal?.addEventListener('abort', giveUp, { once: true });
  try {
    const greeted = await greetServer(channel, terms, { session, isStarting });
    return new RemoteDevice({ ...greeted, here: isStarting });
  } catch (error) {
    throwIfAborted(signal, OPENING);
    throw error;
  } finally {
    signal?.removeEventListener('abort', giveUp);
  }
}

/** Says how a process ended, once it has. */
async function exitOf(child: ChildProcess): Promise<string> {
  return await new Promise((resolve) => {
    child.once('error', (error) => resolve(`it could not be started: ${error.message}`));
    child.once('exit', (code, signal) => resolve(`the process ended with ${signal ?? `code ${code}`}`));
  });
}

/** A process ends when its pipe does; one that does not is ended. */
async function endProcess(child: ChildProcess, exited: Promise<string>): Promise<void> {
  child.ref();
  const late = setTimeout(END_MS, true, { ref: false });
  if ((await Promise.race([exited, late])) === true) child.kill('SIGKILL');
  await exited;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
