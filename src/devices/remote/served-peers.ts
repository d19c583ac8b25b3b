import { fail, invariant } from '../../base/errors.ts';
import type { Device, PeerLink, PeerPlace } from '../../device/index.ts';

/** The link of a served device with ranks in other processes, which its connection asked for. */
export class ServedPeers {
  readonly #device: Device;
  readonly #stop = new AbortController();
  #joining: Promise<PeerLink> | undefined;

  constructor(device: Device) {
    this.#device = device;
  }

  /** Once. Rejects as the device joins, with `DEVICE_UNAVAILABLE` if it is never linked, and with the error of `abort`. */
  async join(place: PeerPlace): Promise<void> {
    const device = this.#device;
    invariant(!this.#joining, 'a device is linked once');
    if (!device.joinPeers) {
      const why = 'devices of this kind are never linked: the host computes what they have in common';
      fail('DEVICE_UNAVAILABLE', { device: device.info.backend, why });
    }
    this.#joining = device.joinPeers({ ...place, signal: this.#stop.signal });
    await this.#joining;
  }

  /** Nothing waits for the other ranks any more. The device is lost if it was linked. */
  abort(reason: unknown): void {
    this.#stop.abort(reason);
    this.#joining?.then(
      (link) => link.abort(reason),
      () => {},
    );
  }

  /** Ends the link, which waits for the others to do so. */
  async leave(): Promise<void> {
    const link = await this.#joining?.catch(() => undefined);
    await link?.[Symbol.asyncDispose]();
  }
}
