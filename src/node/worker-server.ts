import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { fail } from '../base/errors.ts';
import type { DeviceInfo, MemoryInfo } from '../device/index.ts';
import { type DeviceRequest, openDevice } from './devices.ts';
import { type ModelFile, openModelFile } from './model-file.ts';
import { ServedWorker, type WorkerEvent } from './served-worker.ts';
import { SocketChannel } from './socket-channel.ts';
import { sharedTerms, WORKER_PORT, type WorkerTerms } from './worker-terms.ts';

/** Connections at once, of which one is served: the others are refused or greeted. */
const MAX_CONNECTIONS = 16;

/** Options of a worker. */
export interface WorkerServerOptions extends WorkerTerms {
  /** Default 127.0.0.1: this machine only. */
  readonly host?: string | undefined;
  /** Default 7979; 0 picks a free one. */
  readonly port?: number | undefined;
  /** What is served; several devices are served as one. */
  readonly device?: DeviceRequest | undefined;
  /**
   * The path of a file of the model that will be asked for: its weights are read here instead of being sent. A program with another model
   * is then refused; they are compared by metadata and samples of the weights, so that a damaged copy is not noticed. Default: weights are sent.
   */
  readonly model?: string | undefined;
  /** Called when someone connects, was refused, or has left. */
  readonly onEvent?: ((event: WorkerEvent) => void) | undefined;
}

/** What a worker serves, and where. */
export interface WorkerDescription {
  readonly address: string;
  readonly device: DeviceInfo;
  readonly memory: MemoryInfo;
}

/**
 * Serves this host's devices to a model of another process, as a stage or a rank of its layers (`DeviceRequest.workers`). Whoever connects has
 * to know the secret; what is sent is not encrypted. Dispose it to end.
 */
export class WorkerServer implements AsyncDisposable {
  readonly description: WorkerDescription;
  readonly #server: Server;
  readonly #worker: ServedWorker;
  readonly #file: ModelFile | undefined;

  private constructor(
    server: Server,
    worker: ServedWorker,
    of: { readonly description: WorkerDescription; readonly file: ModelFile | undefined },
  ) {
    this.#server = server;
    this.#worker = worker;
    this.#file = of.file;
    this.description = of.description;
  }

  /** Opens the device and listens. Rejects as `openDevice` and `openGguf`, with `INVALID_ARGUMENT` for terms that cannot be, or with `ADDRESS_IN_USE`. */
  static async open(options: WorkerServerOptions): Promise<WorkerServer> {
    const { host = '127.0.0.1', port = WORKER_PORT, device: request, model, onEvent } = options;
    const terms = sharedTerms(options);
    const open = () => openDevice(request);
    const file = model === undefined ? undefined : await openModelFile(model);
    const worker = new ServedWorker({ terms, open, files: { file }, ...(onEvent && { onEvent }) });
    try {
      const device = await worker.device();
      if (device.stages) {
        const expected = 'one stage: a device, or several that a model is split over';
        fail('INVALID_ARGUMENT', { name: 'device', found: `${device.stages.length} stages`, expected });
      }
      const server = await listen(host, port, worker);
      const { address, family, port: own } = server.address() as AddressInfo;
      const shown = family === 'IPv6' ? `[${address}]` : address;
      const description = { address: `${shown}:${own}`, device: device.info, memory: await device.memory() };
      return new WorkerServer(server, worker, { description, file });
    } catch (error) {
      await worker[Symbol.asyncDispose]();
      await file?.[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Connections that it has, greeted or not. */
  get connections(): number {
    return this.#worker.connections;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = this.#server.listening ? once(this.#server, 'close') : undefined;
    this.#server.close();
    await this.#worker[Symbol.asyncDispose]();
    await this.#file?.[Symbol.asyncDispose]();
    await closed;
  }
}

async function listen(host: string, port: number, worker: ServedWorker): Promise<Server> {
  const server = createServer((socket) => {
    // Who says nothing must not keep out who has something to say.
    if (worker.connections >= MAX_CONNECTIONS && !worker.dropStranger()) socket.destroy();
    else void worker.serve(new SocketChannel(socket, { address: peerOf(socket) }));
  });
  try {
    await once(server.listen({ host, port }), 'listening');
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return fail('ADDRESS_IN_USE', { address: `${host}:${port}`, reason }, error);
  }
  // A connection that the system did not give, such as for want of a file descriptor; the next one may come.
  server.on('error', (error) => process.emitWarning(error));
  return server;
}

function peerOf({ remoteAddress = 'nobody', remoteFamily, remotePort }: Socket): string {
  const host = remoteFamily === 'IPv6' ? `[${remoteAddress}]` : remoteAddress;
  return `${host}:${remotePort ?? 0}`;
}
