import { fail } from '../base/errors.ts';
import type { Device } from '../device/index.ts';
import {
  type ByteChannel,
  factsOf,
  greetClient,
  type Greeted,
  type Login,
  type OwnFiles,
  ServedDevice,
  type SharedTerms,
} from '../devices/remote/index.ts';

/** What happens to a device that is served. */
export type WorkerEvent =
  | { readonly kind: 'connected'; readonly address: string }
  | { readonly kind: 'refused'; readonly address: string; readonly error: Error }
  | { readonly kind: 'ended'; readonly address: string; readonly reason: Error };

/** Options of a served worker. */
export interface ServedWorkerOptions {
  readonly terms: SharedTerms;
  /** Opens the device; again after a loss. */
  open(): Promise<Device>;
  /** Files of models, of which a program that opens the same model need not send the weights. */
  readonly files?: OwnFiles | undefined;
  readonly onEvent?: (event: WorkerEvent) => void;
}

/** A connection whose device is in use. */
interface InUse {
  readonly session: string;
  readonly channel: ByteChannel;
  readonly ended: Promise<void>;
}

/** A device that is served to one connection at a time. */
export class ServedWorker implements AsyncDisposable {
  readonly #options: ServedWorkerOptions;
  readonly #channels = new Set<ByteChannel>();
  /** Those of whom it is not known that they know the secret, oldest first. */
  readonly #strangers = new Set<ByteChannel>();
  readonly #serving = new Set<Promise<void>>();
  #device: Promise<Device> | undefined;
  #used: InUse | undefined;
  #isEnding = false;

  constructor(options: ServedWorkerOptions) {
    this.#options = options;
  }

  /** Connections, greeted or not. */
  get connections(): number {
    return this.#channels.size;
  }

  /** The device, opened if it is not, or was lost. Rejects as it is opened. */
  device(): Promise<Device> {
    this.#device ??= this.#open();
    return this.#device;
  }

  /** Serves whoever is at the other end, once that is known; never rejects. Resolves when that connection has ended. */
  serve(channel: ByteChannel): Promise<void> {
    this.#channels.add(channel);
    this.#strangers.add(channel);
    const serving = this.#serve(channel).finally(() => {
      this.#channels.delete(channel);
      this.#serving.delete(serving);
    });
    this.#serving.add(serving);
    return serving;
  }

  /** Closes the connection that has gone without a proof of the secret for longest. False if there is none. */
  dropStranger(): boolean {
    const [oldest] = this.#strangers;
    if (!oldest) return false;
    this.#strangers.delete(oldest);
    void oldest.close();
    return true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isEnding = true;
    await Promise.all([...this.#channels].map((channel) => channel.close()));
    await Promise.all(this.#serving);
    const device = await this.#device?.catch(() => undefined);
    await device?.[Symbol.asyncDispose]();
  }

  async #serve(channel: ByteChannel): Promise<void> {
    const { terms, files } = this.#options;
    const { address } = channel;
    let end: () => void = () => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    let before: Promise<void> | undefined;
    let greeted: Greeted | undefined;
    try {
      greeted = await greetClient(channel, terms, async (login) => {
        this.#strangers.delete(channel);
        before = this.#admit(channel, login, ended);
        await before;
        return factsOf(await this.device(), files?.file?.fingerprint);
      });
      this.#tell({ kind: 'connected', address });
      const reason = await ServedDevice.serve(await this.device(), greeted, files);
      this.#tell({ kind: 'ended', address, reason });
    } catch (found) {
      const error = found instanceof Error ? found : new Error(String(found));
      await greeted?.fail(error);
      this.#tell({ kind: 'refused', address, error });
    } finally {
      this.#strangers.delete(channel);
      await channel.close();
      // Whoever takes this one's place waits for those before it, too.
      await before;
      if (this.#used?.channel === channel) this.#used = undefined;
      end();
    }
  }

  /**
   * Gives the device to a connection that knows the secret; one before it for the same session was cut, and has not noticed yet. Throws
   * if another session has it; resolves when that one has freed it, and never rejects.
   */
  #admit(channel: ByteChannel, { session }: Login, ended: Promise<void>): Promise<void> {
    const before = this.#used;
    if (before && before.session !== session) {
      fail('REMOTE_REFUSED', { address: channel.address, why: 'its device is in use' });
    }
    this.#used = { session, channel, ended };
    void before?.channel.close();
    return before?.ended ?? Promise.resolve();
  }

  /** What a listener throws is its own: the device is served nevertheless. */
  #tell(event: WorkerEvent): void {
    try {
      this.#options.onEvent?.(event);
    } catch (error) {
      process.emitWarning(error instanceof Error ? error : String(error));
    }
  }

  async #open(): Promise<Device> {
    try {
      if (this.#isEnding) fail('DISPOSED', { what: 'the worker' });
      const device = await this.#options.open();
      const opened = this.#device;
      void device.lost.then(async () => {
        if (this.#device === opened) this.#device = undefined;
        await this.#used?.ended;
        await device[Symbol.asyncDispose]();
      });
      return device;
    } catch (error) {
      this.#device = undefined;
      throw error;
    }
  }
}
