import type { Address } from '../../../device/index.ts';

/**
 * The result of a driver call: 0 for success, otherwise an error code, with almost the same meaning in HIP and CUDA.
 */
export type Status = number;

/** Properties of a device that both drivers report as integers. */
export interface DeviceAttributes<T = number> {
  /** Number of multiprocessors, or compute units. */
  readonly multiprocessors: T;
  /** Threads per warp, or lanes per wave: 32 or 64. */
  readonly waveSize: T;
  readonly maxThreadsPerBlock: T;
  /** The maximum that a kernel may request with `allowSharedBytes`. */
  readonly sharedBytesOptIn: T;
  /** Bytes of the L2 cache. */
  readonly l2Bytes: T;
}

/** How pages of host memory may be accessed. */
export type PageAccess = 'read' | 'write';

/**
 * The calls of a GPU driver, with a common signature for HIP and CUDA. Results are written to the `ResultSpace` that
 * the calls were bound with: a pointer, a handle, an integer. `stream`, `event`, `module` and so on are handles. Calls
 * do not wait unless documented; none uses the null stream.
 */
export interface DriverCalls {
  init(): Status;
  /** Returns an integer. */
  deviceCount(): Status;
  /** Returns an integer. */
  version(): Status;
  /** Returns a text. */
  deviceName(ordinal: number): Status;
  /** Returns a text, `0000:65:00.0`. */
  busId(ordinal: number): Status;
  /** Returns the bytes of a device's memory, as a pointer. */
  totalMemory(ordinal: number): Status;
  /** Returns an integer. */
  attribute(which: keyof DeviceAttributes, ordinal: number): Status;
  /** Whether the device can copy from pinned read-only pages. */
  pinsReadOnly(ordinal: number): boolean;
  /** The compiler's name for the device's instruction set: `gfx1100`, `sm_90`. */
  target(ordinal: number): { readonly status: Status; readonly name: string };
  /** Initializes a device for this process; `release` undoes it. */
  retain(ordinal: number): Status;
  /** Makes a retained device the current one of this thread. */
  use(ordinal: number): Status;
  release(ordinal: number): Status;

  /** Returns an integer: 1 if kernels of the device can be given access to the peer's memory. */
  canAccessPeer(ordinal: number, peer: number): Status;
  /** Gives kernels of the current device access to the memory of a retained peer. */
  enablePeer(peer: number): Status;
  disablePeer(peer: number): Status;
  /** What connects two devices, as far as the driver says. */
  peerLink(ordinal: number, peer: number): { readonly status: Status; readonly name: string };

  /** Returns two sizes: free, total. */
  memoryInfo(): Status;
  /** Returns an address. */
  allocate(bytes: number): Status;
  /** Returns the address of memory that a peer's kernel may write while a kernel of this device reads it. */
  allocateShared(bytes: number): Status;
  free(address: Address): Status;
  /** Returns the address, on the host and on all devices, of pinned memory that kernels read and write. */
  allocatePinned(bytes: number): Status;
  freePinned(address: Address): Status;
  /** `access`: how the process may access the pages; `read` only if `pinsReadOnly`. */
  pin(address: Address, bytes: number, access: PageAccess): Status;
  unpin(address: Address): Status;
  upload(to: Address, from: Address, bytes: number, stream: Address): Status;
  /** Uploads rows that are parts of longer ones. */
  uploadRows(to: Address, from: Address, of: RowCopy, stream: Address): Status;
  download(to: Address, from: Address, bytes: number, stream: Address): Status;
  copy(to: Address, from: Address, bytes: number, stream: Address): Status;
  fill(to: Address, byte: number, bytes: number, stream: Address): Status;

  /** Returns a handle. */
  createStream(): Status;
  destroyStream(stream: Address): Status;
  queryStream(stream: Address): Status;
  /** Waits. */
  synchronizeStream(stream: Address): Status;
  waitEvent(stream: Address, event: Address): Status;
  /** Returns a handle. */
  createEvent(): Status;
  destroyEvent(event: Address): Status;
  recordEvent(event: Address, stream: Address): Status;
  queryEvent(event: Address): Status;
  /** Waits. */
  synchronizeEvent(event: Address): Status;
  /** Returns a float: milliseconds, negative if `to` came first. */
  elapsed(from: Address, to: Address): Status;

  /** Returns a handle. */
  loadModule(image: Address): Status;
  unloadModule(module: Address): Status;
  /** Returns a handle. */
  function(module: Address, name: string): Status;
  /** Allows a kernel to use so much dynamic shared memory, of which some is otherwise refused. */
  allowSharedBytes(kernel: Address, bytes: number): Status;
  /** Asks that a multiprocessor sets aside so many percent of its shared memory for a kernel's blocks. */
  preferShared(kernel: Address, percent: number): Status;
  /** `parameters` is an array of pointers to the arguments, whose values are copied by the call. */
  launch(shape: LaunchShape, kernel: Address, stream: Address, parameters: Address): Status;
  beginCapture(stream: Address): Status;
  /** Returns a handle. */
  endCapture(stream: Address): Status;
  /** Returns a handle. */
  instantiate(graph: Address): Status;
  launchGraph(executable: Address, stream: Address): Status;
  destroyGraph(graph: Address): Status;
  destroyExecutable(executable: Address): Status;

  /** The driver's own description of a status. */
  describe(status: Status): string;
}

/** A copy of `rows` rows of `bytes` each, which begin so many bytes apart. */
export interface RowCopy {
  readonly rows: number;
  readonly bytes: number;
  readonly toStride: number;
  readonly fromStride: number;
}

/** Three dimensions, the fastest first. */
export type Extent = readonly [number, number, number];

/**
 * The launch configuration of a kernel: blocks in the grid, threads in a block, dynamic shared memory of a block in
 * bytes.
 */
export interface LaunchShape {
  readonly grid: Extent;
  readonly block: Extent;
  readonly sharedBytes: number;
  /** Neighbouring blocks of the grid that run at once and share memory, which only CUDA has, from Hopper on. */
  readonly cluster?: number | undefined;
  /**
   * Whether it may start while the previous launch still runs, because its kernel waits for that itself. Ignored by
   * drivers that do not support it.
   */
  readonly programmatic?: boolean;
}

/** The parameters of both drivers' launch calls: kernel; grid; block; shared bytes; stream; parameters; extra. */
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
