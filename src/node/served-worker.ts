import { fail } from '../base/errors.ts';
import type { Device } from '../device/index.ts';
import {
  type ByteChannel,
  factsOf,
  greetClient,
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
    const serving = this.#serve(channel).finally(() => {
      this.#channels.delete(channel);
      this.#serving.delete(serving);
    });
    this.#serving.add(serving);
    return serving;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isEnding = true;
    await Promise.all([...this.#channels].map((channel) => channel.close()));
    await Promise.all(this.#serving);
    const device = await this.#device?.catch(() => undefined);
    await device?.[Symbol.asyncDispose]();
  }

  async #serve(channel: ByteChannel): Promise<void> {
    const { terms, onEvent } = this.#options;
    const { address } = channel;
    let end: () => void = () => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    try {
      const greeted = await greetClient(channel, terms, (login) => this.#admit(channel, login, ended));
      onEvent?.({ kind: 'connected', address });
      const reason = await ServedDevice.serve(await this.device(), greeted, this.#options.files);
      onEvent?.({ kind: 'ended', address, reason });
    } catch (error) {
      onEvent?.({
        kind: 'refused',
        address,
        error: error instanceof Error ? error : new Error(String(error)),
      });
    } finally {
      if (this.#used?.channel === channel) this.#used = undefined;
      end();
    }
  }

  /** Gives the device to a connection that knows the secret; one before it for the same session was cut, and has not noticed yet. */
  async #admit(channel: ByteChannel, { session }: Login, ended: Promise<void>) {
    const before = this.#used;
    if (before && before.session !== session) {
      fail('REMOTE_REFUSED', { address: channel.address, why: 'its device is in use' });
    }
    this.#used = { session, channel, ended };
    if (before) {
      await before.channel.close();
      await before.ended;
    }
    return factsOf(await this.device(), this.#options.files?.file?.fingerprint);
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
