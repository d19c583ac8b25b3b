import { fail, isRocmforgeError, type RocmforgeError } from '../../../base/errors.ts';
import { checkLinkChoice, type Ffi, type LinkChoice, type PeerPlace } from '../../../device/index.ts';
import type { Driver } from '../driver/driver.ts';
import type { DriverLibrary } from '../driver/driver-library.ts';
import { HipCudaPeerLink, type LinkedDevice, type PeerLinkOptions } from './hip-cuda-peer-link.ts';
import { NcclLibrary } from './nccl-library.ts';
import { type LinkPlace, NcclLink, type NcclLinkSetup } from './nccl-link.ts';
import { cudaNccl, hipNccl, type NcclTable } from './nccl-table.ts';
import { MAX_LINKED_RANKS } from './peer-rank.ts';

/** How devices are linked. */
export interface LinkOptions extends PeerLinkOptions {
  /** Default: `auto`. */
  readonly link?: LinkChoice | undefined;
  /** How long NCCL or RCCL may take to connect ranks. Default: 60. */
  readonly seconds?: number | undefined;
}

/** Where NCCL or RCCL is searched for. */
export interface LibrarySetup {
  readonly ffi: Ffi;
  /** Instead of the usual places. */
  readonly libraries: readonly string[] | undefined;
}

/** What a link is opened with. */
export interface OpenLinkSetup<Part> extends NcclLinkSetup<Part>, LibrarySetup {
  readonly options: LinkOptions;
}

/**
 * Links devices that are open: their kernels where they have access to one another's memory, otherwise NCCL or RCCL; undefined, with the
 * reason in the log, if there is neither. Rejects with `INVALID_ARGUMENT` for an unknown choice, `OUT_OF_MEMORY` or the error of the driver,
 * and `DEVICE_UNAVAILABLE` if there is not what was asked for, leaving nothing behind.
 */
export async function openLink<Part>(
  devices: readonly LinkedDevice[],
  setup: OpenLinkSetup<Part>,
): Promise<HipCudaPeerLink | NcclLink<Part> | undefined> {
  const { ffi, logger, options, ended } = setup;
  const { link: choice = 'auto' } = options;
  checkLinkChoice(choice);
  const names = devices.map(({ driver }) => driver.device);
  if (choice === 'host') return undefined;
  const why = { peer: 'another link was asked for', nccl: 'another link was asked for' };
  if (choice !== 'nccl') {
    const opened = HipCudaPeerLink.open(devices, { ffi, logger, options, ended });
    if (!('why' in opened)) {
      logger.debug('devices are linked', { devices: names, by: 'peer access' });
      return opened;
    }
    why.peer = opened.why;
  }
  if (choice !== 'peer') {
    const opened = await openNccl(devices, setup);
    if (opened instanceof NcclLink) return opened;
    why.nccl = opened.why;
  }
  if (choice !== 'auto') fail('DEVICE_UNAVAILABLE', { device: names.join(', '), why: why[choice] });
  logger.info('devices are not linked', { devices: names, why: why.peer, library: why.nccl });
  return undefined;
}

/** NCCL or RCCL between devices, or why not. */
async function openNccl<Part>(
  devices: readonly LinkedDevice[],
  setup: OpenLinkSetup<Part>,
): Promise<NcclLink<Part> | { readonly why: string }> {
  const [first] = devices;
  if (!first || devices.length < 2) return { why: 'there is only one' };
  if (devices.length > MAX_LINKED_RANKS) return { why: `there are more than ${MAX_LINKED_RANKS}` };
  const { library: driver } = first.driver;
  if (devices.some((device) => device.driver.library !== driver)) return { why: 'their drivers differ' };
  if (new Set(devices.map(({ driver }) => driver.ordinal)).size < devices.length) {
    return { why: 'one is there twice' };
  }
  const drivers = devices.map(({ driver }) => driver);
  try {
    return await linkBy(drivers, setup, (library) => ({
      id: library.newId(),
      first: 0,
      ranks: drivers.length,
    }));
  } catch (error) {
    if (!isRocmforgeError(error)) throw error;
    return { why: whyOf(error, driver) };
  }
}

/** An id for ranks in several processes. Throws `DEVICE_UNAVAILABLE`. */
export function newLinkId({ library: driver, device }: Driver, setup: LibrarySetup): Uint8Array {
  try {
    using library = libraryOf(driver, setup);
    return library.newId();
  } catch (error) {
    return unavailable(error, driver, device);
  }
}

/** Links a device that is open with those of other processes. Rejects with `DEVICE_UNAVAILABLE` and the reason of the signal, leaving nothing behind. */
export async function joinLink<Part>(
  driver: Driver,
  { id, rank, ranks, signal }: PeerPlace,
  setup: OpenLinkSetup<Part>,
): Promise<NcclLink<Part>> {
  if (ranks > MAX_LINKED_RANKS) {
    fail('DEVICE_UNAVAILABLE', { device: driver.device, why: `there are more than ${MAX_LINKED_RANKS}` });
  }
  try {
    return await linkBy([driver], setup, () => ({ id, first: rank, ranks, signal }));
  } catch (error) {
    signal?.throwIfAborted();
    return unavailable(error, driver.library, driver.device);
  }
}

/** Links devices of this process by the library, as ranks of the place that there is for them. */
async function linkBy<Part>(
  drivers: readonly Driver[],
  setup: OpenLinkSetup<Part>,
  place: (library: NcclLibrary) => LinkPlace,
): Promise<NcclLink<Part>> {
  const [first] = drivers as readonly [Driver];
  const library = libraryOf(first.library, setup);
  try {
    const of = place(library);
    const link = await NcclLink.open(library, drivers, { ...setup, ...of, seconds: setup.options.seconds });
    const devices = drivers.map(({ device }) => device);
    setup.logger.debug('devices are linked', { devices, by: library.description, ranks: of.ranks });
    return link;
  } catch (error) {
    library[Symbol.dispose]();
    throw error;
  }
}

function libraryOf({ api }: DriverLibrary, { ffi, libraries }: LibrarySetup): NcclLibrary {
  return new NcclLibrary(ffi, tableOf(api), libraries);
}

function tableOf(api: DriverLibrary['api']): NcclTable {
  return api === 'cuda' ? cudaNccl : hipNccl;
}

/** Why there is no link by the library, with what helps. */
function whyOf({ code, message }: RocmforgeError, { api }: DriverLibrary): string {
  return code === 'LIBRARY_NOT_FOUND' ? `${message}. ${tableOf(api).advice}` : message;
}

function unavailable(error: unknown, driver: DriverLibrary, device: string): never {
  if (!isRocmforgeError(error)) throw error;
  return fail('DEVICE_UNAVAILABLE', { device, why: whyOf(error, driver) }, error);
}
