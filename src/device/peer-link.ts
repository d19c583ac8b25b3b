import { fail } from '../base/errors.ts';

/**
 * Lets the ranks of a group compute collectives with one another inside their steps. Whoever linked the devices disposes it once their
 * streams have nothing to do and steps with collectives are disposed, before the devices.
 */
export interface PeerLink extends AsyncDisposable {
  /**
   * Ends everything that waits for another rank, within a second; all ranks' devices are then lost. For a rank that fails in a way that
   * its device does not notice.
   */
  abort(reason: unknown): void;
}

/** The place of a rank in a group whose ranks are in several processes. */
export interface PeerPlace {
  /** Names the group: what `Device.newPeerId` of rank 0 gave. */
  readonly id: Uint8Array;
  readonly rank: number;
  readonly ranks: number;
  /** Gives up waiting for the others, with its reason. */
  readonly signal?: AbortSignal | undefined;
}

/** Every `LinkChoice`. */
export const LINK_CHOICES = ['auto', 'peer', 'nccl', 'host'] as const;

/**
 * What computes collectives of devices: their kernels, which need access to one another's memory (`peer`), NCCL or RCCL (`nccl`), or the
 * `host`. `auto` is the first of these that there is.
 */
export type LinkChoice = (typeof LINK_CHOICES)[number];

/** Throws `INVALID_ARGUMENT` for anything but a `LinkChoice`. */
export function checkLinkChoice(link: unknown): void {
  if (LINK_CHOICES.some((choice) => choice === link)) return;
  fail('INVALID_ARGUMENT', { name: 'link', found: String(link), expected: LINK_CHOICES.join(', ') });
}
