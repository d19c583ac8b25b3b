import { fail, isRocmforgeError } from '../../../base/errors.ts';
import { checkLinkChoice, type Ffi, type LinkChoice } from '../../../device/index.ts';
import { HipCudaPeerLink, type LinkedDevice, type PeerLinkOptions } from './hip-cuda-peer-link.ts';
import { NcclLibrary } from './nccl-library.ts';
import { NcclLink, type NcclLinkSetup } from './nccl-link.ts';
import { cudaNccl, hipNccl } from './nccl-table.ts';
import { MAX_LINKED_RANKS } from './peer-rank.ts';

/** How devices are linked. */
export interface LinkOptions extends PeerLinkOptions {
  /** Default: `auto`. */
  readonly link?: LinkChoice | undefined;
  /** How long NCCL or RCCL may take to connect ranks. Default: 60. */
  readonly seconds?: number | undefined;
}

/** What a link is opened with. */
export interface OpenLinkSetup<Part> extends NcclLinkSetup<Part> {
  readonly ffi: Ffi;
  readonly options: LinkOptions;
  /** Where to search for NCCL or RCCL, instead of the usual places. */
  readonly libraries: readonly string[] | undefined;
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
  const { ffi, logger, libraries, options } = setup;
  const [first] = devices;
  if (!first || devices.length < 2) return { why: 'there is only one' };
  if (devices.length > MAX_LINKED_RANKS) return { why: `there are more than ${MAX_LINKED_RANKS}` };
  const { library: driver } = first.driver;
  if (devices.some((device) => device.driver.library !== driver)) return { why: 'their drivers differ' };
  if (new Set(devices.map(({ driver }) => driver.ordinal)).size < devices.length) {
    return { why: 'one is there twice' };
  }
  const table = driver.api === 'cuda' ? cudaNccl : hipNccl;
  let library: NcclLibrary | undefined;
  try {
    const drivers = devices.map(({ driver }) => driver);
    library = new NcclLibrary(ffi, table, libraries);
    const link = await NcclLink.open(library, drivers, { ...setup, seconds: options.seconds });
    logger.debug('devices are linked', {
      devices: drivers.map(({ device }) => device),
      by: library.description,
    });
    return link;
  } catch (error) {
    library?.[Symbol.dispose]();
    if (!isRocmforgeError(error)) throw error;
    return {
      why: error.code === 'LIBRARY_NOT_FOUND' ? `${error.message}. ${table.advice}` : error.message,
    };
  }
}
