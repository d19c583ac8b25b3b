import type { Address } from '../../../device/index.ts';

/** What a driver call returns: 0 for success, else a number that HIP and CUDA give the same meaning almost everywhere. */
export type Status = number;

/** Facts about a device that both drivers tell as integers. */
export interface DeviceAttributes<T = number> {
  /** Multiprocessors, or compute units. */
  readonly multiprocessors: T;
  /** Threads of a warp, or lanes of a wave: 32 or 64. */
  readonly waveSize: T;
  readonly maxThreadsPerBlock: T;
  /** Bytes of shared memory that a block gets without asking for more. */
  readonly sharedBytesPerBlock: T;
  /** The most that a kernel may ask for with `allowSharedBytes`. */
  readonly sharedBytesOptIn: T;
  /** Bytes of the second-level cache. */
  readonly l2Bytes: T;
}

/** What may be done with pages of host memory. */
export type PageAccess = 'read' | 'write';

/**
 * The calls of a GPU driver, HIP's and CUDA's brought to one form. What a call gives lies in the `ResultSpace` it was bound
 * with: a pointer, a handle, an integer. `stream`, `event`, `module` and the like are handles. Nothing here waits but what
 * says so; nothing uses the null stream.
 */
export interface DriverCalls {
  init(): Status;
  /** Gives an integer. */
  deviceCount(): Status;
  /** Gives an integer. */
  version(): Status;
  /** Gives a text. */
  deviceName(ordinal: number): Status;
  /** Gives a text, `0000:65:00.0`. */
  busId(ordinal: number): Status;
  /** Gives an integer. */
  attribute(which: keyof DeviceAttributes, ordinal: number): Status;
  /** Whether the device copies from pinned pages that may only be read. */
  pinsReadOnly(ordinal: number): boolean;
  /** The compiler's name of the device's instruction set: `gfx1100`, `sm_90`. */
  target(ordinal: number): { readonly status: Status; readonly name: string };
  /** Readies a device for this process; `release` is its opposite. */
  retain(ordinal: number): Status;
  /** Makes a retained device the one that this thread's other calls mean. */
  use(ordinal: number): Status;
  release(ordinal: number): Status;

  /** Gives two sizes: free, total. */
  memoryInfo(): Status;
  /** Gives an address. */
  allocate(bytes: number): Status;
  free(address: Address): Status;
  /** Gives an address. */
  allocatePinned(bytes: number): Status;
  freePinned(address: Address): Status;
  /** `access`: what the process may do with the pages; `read` only where `pinsReadOnly` says so. */
  pin(address: Address, bytes: number, access: PageAccess): Status;
  unpin(address: Address): Status;
  upload(to: Address, from: Address, bytes: number, stream: Address): Status;
  download(to: Address, from: Address, bytes: number, stream: Address): Status;
  copy(to: Address, from: Address, bytes: number, stream: Address): Status;
  fill(to: Address, byte: number, bytes: number, stream: Address): Status;

  /** Gives a handle. */
  createStream(): Status;
  destroyStream(stream: Address): Status;
  queryStream(stream: Address): Status;
  /** Waits. */
  synchronizeStream(stream: Address): Status;
  waitEvent(stream: Address, event: Address): Status;
  /** Gives a handle. */
  createEvent(): Status;
  destroyEvent(event: Address): Status;
  recordEvent(event: Address, stream: Address): Status;
  queryEvent(event: Address): Status;
  /** Waits. */
  synchronizeEvent(event: Address): Status;
  /** Gives a float: milliseconds, negative where `to` came first. */
  elapsed(from: Address, to: Address): Status;

  /** Gives a handle. */
  loadModule(image: Address): Status;
  unloadModule(module: Address): Status;
  /** Gives a handle. */
  function(module: Address, name: string): Status;
  /** Lets a kernel ask for more dynamic shared memory than `sharedBytesPerBlock`. */
  allowSharedBytes(kernel: Address, bytes: number): Status;
  /** `parameters` is an array of pointers to the arguments, whose values are copied by the call. */
  launch(shape: LaunchShape, kernel: Address, stream: Address, parameters: Address): Status;
  beginCapture(stream: Address): Status;
  /** Gives a handle. */
  endCapture(stream: Address): Status;
  /** Gives a handle. */
  instantiate(graph: Address): Status;
  launchGraph(executable: Address, stream: Address): Status;
  destroyGraph(graph: Address): Status;
  destroyExecutable(executable: Address): Status;

  /** The driver's own words for a status. */
  describe(status: Status): string;
}

/** Three dimensions, the first the fastest. */
export type Extent = readonly [number, number, number];

/** How a kernel is spread: blocks in the grid, threads in a block, dynamic shared memory of a block in bytes. */
export interface LaunchShape {
  readonly grid: Extent;
  readonly block: Extent;
  readonly sharedBytes: number;
  /** May start while the launch in front of it still runs: its kernel waits by itself. Ignored where no driver knows it. */
  readonly programmatic?: boolean;
}

/** What both drivers' launch calls take: kernel; grid; block; shared bytes; stream; parameters; extra. */
export const LAUNCH_PARAMETERS = [
  'address',
  'u32',
  'u32',
  'u32',
  'u32',
  'u32',
  'u32',
  'u32',
  'address',
  'address',
  'address',
] as const;
