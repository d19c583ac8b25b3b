import { fail, isRocmforgeError } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import { checkLinkChoice, type Device, type LinkChoice, type PeerLink } from '../../device/index.ts';

/** How ranks in several processes are linked. */
export interface JoinOptions {
  readonly link?: LinkChoice | undefined;
  readonly logger: Logger;
}

/**
 * Links devices of which some are in other processes: each joins the others by NCCL or RCCL, with an id of the first one's; undefined, with
 * the reason in the log, if they cannot. Rejects with `DEVICE_UNAVAILABLE` if there is not what was asked for.
 */
export async function joinRanks(
  devices: readonly Device[],
  { link = 'auto', logger }: JoinOptions,
): Promise<PeerLink | undefined> {
  checkLinkChoice(link);
  if (link === 'host') return undefined;
  const names = devices.map(({ info }) => info.name);
  if (link === 'peer') {
    const why =
      'they are in several processes, which reach only their own memory: ask for nccl, host or auto';
    fail('DEVICE_UNAVAILABLE', { device: names.join(', '), why });
  }
  try {
    return await joinAll(devices);
  } catch (error) {
    if (link === 'nccl' || !isRocmforgeError(error, 'DEVICE_UNAVAILABLE')) throw error;
    logger.info('devices are not linked', { devices: names, why: error.message });
    return undefined;
  }
}

/** The first that cannot join makes the others give up. Rejects as that does, with none of them linked. */
async function joinAll(devices: readonly Device[]): Promise<PeerLink> {
  const id = await devices[0]?.newPeerId?.();
  const stop = new AbortController();
  const joining = devices.map(async (device, rank) => {
    try {
      if (id && device.joinPeers) {
        return await device.joinPeers({ id, rank, ranks: devices.length, signal: stop.signal });
      }
      const why = 'devices of this kind are never linked: the host computes what they have in common';
      return fail('DEVICE_UNAVAILABLE', { device: device.info.backend, why });
    } catch (error) {
      stop.abort(error);
      throw error;
    }
  });
  const joined = await Promise.allSettled(joining);
  const link = new JoinedRanks(joined.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : [])));
  if (stop.signal.aborted) {
    link.abort(stop.signal.reason);
    await link[Symbol.asyncDispose]();
    throw stop.signal.reason;
  }
  for (const { lost } of devices) void lost.then((reason) => link.abort(reason));
  return link;
}

/** The links of all ranks as one: a lost rank ends all that waits for it, wherever that is. */
class JoinedRanks implements PeerLink {
  readonly #links: readonly PeerLink[];

  constructor(links: readonly PeerLink[]) {
    this.#links = links;
  }

  abort(reason: unknown): void {
    for (const link of this.#links) link.abort(reason);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // Communicators end when all do.
    await Promise.all(this.#links.map((link) => link[Symbol.asyncDispose]()));
  }
}
