import type { Address, Ffi, NativeLibrary } from '../../../device/index.ts';
import {
  type DeviceAttributes,
  type DriverCalls,
  LAUNCH_PARAMETERS,
  type LaunchShape,
  type RowCopy,
  type Status,
} from './driver-calls.ts';
import { INVALID_VALUE, SUCCESS } from './driver-status.ts';
import { type DriverTable, type ReadyDevice, statusCalls } from './driver-table.ts';
import type { ResultSpace } from './result-space.ts';

/** `CUdevice_attribute`. */
const ATTRIBUTES: DeviceAttributes = {
  maxThreadsPerBlock: 1,
  sharedBytesOptIn: 97,
  waveSize: 10,
  multiprocessors: 16,
  l2Bytes: 38,
};
const COMPUTE_CAPABILITY_MAJOR = 75;
const COMPUTE_CAPABILITY_MINOR = 76;
/** `CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED`. */
const PEER_ATOMICS = 3;
const READ_ONLY_HOST_REGISTER_SUPPORTED = 113;

const STREAM_NON_BLOCKING = 1;
const EVENT_DEFAULT = 0;
/** Makes the memory usable by every context. */
const HOST_ALLOC_PORTABLE = 1;
const HOST_ALLOC_DEVICE_MAP = 2;
const HOST_REGISTER_PORTABLE = 1;
/** The device only reads the pages: those of a file that is mapped read-only cannot be pinned without it. */
const HOST_REGISTER_READ_ONLY = 8;
/** Allows other threads to allocate while this one captures. */
const CAPTURE_THREAD_LOCAL = 1;
/** `CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES`. */
const MAX_DYNAMIC_SHARED = 8;
/** `CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT`. */
const PREFERRED_SHARED = 9;

/** CUDA's driver API: libcuda of the NVIDIA driver, for CUDA 12 and 13. */
export const cudaDriver: DriverTable = {
  api: 'cuda',
  libraries: ['libcuda.so.1', 'libcuda.so'],
  formatVersion: (version) => `${Math.floor(version / 1000)}.${Math.floor((version % 1000) / 10)}`,
  bind: (library, results) => ({
    ...bindDevices(library, results),
    ...bindMemory(library, results),
    ...bindWork(library, results),
  }),
  isLarge: false,
  start,
};

/**
 * The primary context exists as long as anything has retained it. All calls are looked up in advance, because that
 * waits for the dynamic loader while it loads another library.
 */
async function start(ffi: Ffi, library: NativeLibrary): Promise<ReadyDevice> {
  const init = library.bindAsync('cuInit', 'i32', ['u32']);
  const retain = library.bindAsync('cuDevicePrimaryCtxRetain', 'i32', ['address', 'i32']);
  const release = library.bind('cuDevicePrimaryCtxRelease_v2', 'i32', ['i32']);
  await init(0);
  return async (ordinal) => {
    using context = ffi.allocate(8);
    const isReady = (await retain(context.address, ordinal)) === SUCCESS;
    return { [Symbol.dispose]: () => void (isReady && release(ordinal)) };
  };
}

function bindDevices(library: NativeLibrary, results: ResultSpace) {
  const call = statusCalls(library);
  const init = call('cuInit', 'u32');
  const attribute = call('cuDeviceGetAttribute', 'address', 'i32', 'i32');
  const deviceCount = call('cuDeviceGetCount', 'address');
  const version = call('cuDriverGetVersion', 'address');
  const deviceName = call('cuDeviceGetName', 'address', 'i32', 'i32');
  const busId = call('cuDeviceGetPCIBusId', 'address', 'i32', 'i32');
  const totalMemory = call('cuDeviceTotalMem_v2', 'address', 'i32');
  const canAccessPeer = call('cuDeviceCanAccessPeer', 'address', 'i32', 'i32');
  const peerAttribute = call('cuDeviceGetP2PAttribute', 'address', 'i32', 'i32', 'i32');
  const errorName = call('cuGetErrorName', 'i32', 'address');
  const errorText = call('cuGetErrorString', 'i32', 'address');
  return {
    ...bindContexts(library, results),
    init: () => init(0),
    deviceCount: () => deviceCount(results.address),
    version: () => version(results.address),
    deviceName: (ordinal) => deviceName(results.address, results.byteLength, ordinal),
    busId: (ordinal) => busId(results.address, results.byteLength, ordinal),
    totalMemory: (ordinal) => totalMemory(results.address, ordinal),
    attribute: (which, ordinal) => attribute(results.address, ATTRIBUTES[which], ordinal),
    pinsReadOnly: (ordinal) =>
      attribute(results.address, READ_ONLY_HOST_REGISTER_SUPPORTED, ordinal) === SUCCESS &&
      results.int() !== 0,
    target: (ordinal) => {
      const major = attribute(results.address, COMPUTE_CAPABILITY_MAJOR, ordinal);
      const minor = attribute(results.address + 4, COMPUTE_CAPABILITY_MINOR, ordinal);
      return { status: major || minor, name: `sm_${results.int(0)}${results.int(1)}` };
    },
    canAccessPeer: (ordinal, peer) => canAccessPeer(results.address, ordinal, peer),
    // The driver does not name the link. Atomics on a peer's memory are what NVLink has and PCIe mostly has not.
    peerLink: (ordinal, peer) => {
      const status = peerAttribute(results.address, PEER_ATOMICS, ordinal, peer);
      return { status, name: results.int() === 0 ? 'no native atomics' : 'native atomics' };
    },
    describe: (status) => {
      const words = [errorName, errorText].map((ask) =>
        ask(status, results.address) === 0 ? results.textAt(results.pointer()) : 'unknown',
      );
      return words.join(': ');
    },
  } satisfies Partial<DriverCalls>;
}

/** The primary contexts of devices, as the CUDA runtime uses them: shared with the other libraries that use CUDA. */
function bindContexts(library: NativeLibrary, results: ResultSpace) {
  const call = statusCalls(library);
  const retain = call('cuDevicePrimaryCtxRetain', 'address', 'i32');
  const release = call('cuDevicePrimaryCtxRelease_v2', 'i32');
  const setCurrent = call('cuCtxSetCurrent', 'address');
  /** A device may be open several times in one process, for one model each. */
  const contexts = new Map<number, { readonly address: Address; readonly users: number }>();
  const enablePeer = call('cuCtxEnablePeerAccess', 'address', 'u32');
  const disablePeer = call('cuCtxDisablePeerAccess', 'address');
  return {
    enablePeer: (peer) => {
      const context = contexts.get(peer);
      return context ? enablePeer(context.address, 0) : INVALID_VALUE;
    },
    disablePeer: (peer) => {
      const context = contexts.get(peer);
      return context ? disablePeer(context.address) : INVALID_VALUE;
    },
    retain: (ordinal) => {
      const status = retain(results.address, ordinal);
      const users = (contexts.get(ordinal)?.users ?? 0) + 1;
      if (status === 0) contexts.set(ordinal, { address: results.pointer(), users });
      return status;
    },
    use: (ordinal) => {
      const context = contexts.get(ordinal);
      return context ? setCurrent(context.address) : INVALID_VALUE;
    },
    release: (ordinal): Status => {
      const { address = 0, users = 1 } = contexts.get(ordinal) ?? {};
      if (users > 1) contexts.set(ordinal, { address, users: users - 1 });
      else contexts.delete(ordinal);
      return release(ordinal);
    },
  } satisfies Partial<DriverCalls>;
}

function bindMemory(library: NativeLibrary, results: ResultSpace) {
  const call = statusCalls(library);
  const memoryInfo = call('cuMemGetInfo_v2', 'address', 'address');
  const allocate = call('cuMemAlloc_v2', 'address', 'size');
  const allocatePinned = call('cuMemHostAlloc', 'address', 'size', 'u32');
  const pin = call('cuMemHostRegister_v2', 'address', 'size', 'u32');
  const fill = call('cuMemsetD8Async', 'address', 'u32', 'size', 'address');
  const copyRows = call('cuMemcpy2DAsync_v2', 'address', 'address');
  return {
    memoryInfo: () => memoryInfo(results.address, results.address + 8),
    allocate: (bytes) => allocate(results.address, bytes),
    // All of a device's memory is coherent with its peers'.
    allocateShared: (bytes) => allocate(results.address, bytes),
    free: call('cuMemFree_v2', 'address'),
    allocatePinned: (bytes) =>
      allocatePinned(results.address, bytes, HOST_ALLOC_PORTABLE | HOST_ALLOC_DEVICE_MAP),
    freePinned: call('cuMemFreeHost', 'address'),
    pin: (address, bytes, access) =>
      pin(address, bytes, HOST_REGISTER_PORTABLE | (access === 'read' ? HOST_REGISTER_READ_ONLY : 0)),
    unpin: call('cuMemHostUnregister', 'address'),
    upload: call('cuMemcpyHtoDAsync_v2', 'address', 'address', 'size', 'address'),
    uploadRows: (to, from, of, stream) => copyRows(writeRowCopy(results, { to, from, of }), stream),
    download: call('cuMemcpyDtoHAsync_v2', 'address', 'address', 'size', 'address'),
    copy: call('cuMemcpyDtoDAsync_v2', 'address', 'address', 'size', 'address'),
    fill: (to, byte, bytes, stream) => fill(to, byte & 0xff, bytes, stream),
  } satisfies Partial<DriverCalls>;
}

function bindWork(library: NativeLibrary, results: ResultSpace) {
  const call = statusCalls(library);
  const createStream = call('cuStreamCreate', 'address', 'u32');
  const waitEvent = call('cuStreamWaitEvent', 'address', 'address', 'u32');
  const createEvent = call('cuEventCreate', 'address', 'u32');
  const beginCapture = call('cuStreamBeginCapture_v2', 'address', 'i32');
  const instantiate = call('cuGraphInstantiateWithFlags', 'address', 'address', 'u64');
  // Later drivers have only the second version; both take the same arguments.
  const elapsedName = library.has('cuEventElapsedTime_v2') ? 'cuEventElapsedTime_v2' : 'cuEventElapsedTime';
  const elapsed = call(elapsedName, 'address', 'address', 'address');
  const loadModule = call('cuModuleLoadData', 'address', 'address');
  const getFunction = call('cuModuleGetFunction', 'address', 'address', 'text');
  const endCapture = call('cuStreamEndCapture', 'address', 'address');
  const setAttribute = call('cuFuncSetAttribute', 'address', 'i32', 'i32');
  const launch = library.bind('cuLaunchKernel', 'i32', LAUNCH_PARAMETERS);
  const launchExtended = call('cuLaunchKernelEx', 'address', 'address', 'address', 'address');
  return {
    createStream: () => createStream(results.address, STREAM_NON_BLOCKING),
    destroyStream: call('cuStreamDestroy_v2', 'address'),
    queryStream: call('cuStreamQuery', 'address'),
    synchronizeStream: call('cuStreamSynchronize', 'address'),
    waitEvent: (stream, event) => waitEvent(stream, event, 0),
    createEvent: () => createEvent(results.address, EVENT_DEFAULT),
    destroyEvent: call('cuEventDestroy_v2', 'address'),
    recordEvent: call('cuEventRecord', 'address', 'address'),
    queryEvent: call('cuEventQuery', 'address'),
    synchronizeEvent: call('cuEventSynchronize', 'address'),
    elapsed: (from, to) => elapsed(results.address, from, to),
    loadModule: (image) => loadModule(results.address, image),
    unloadModule: call('cuModuleUnload', 'address'),
    function: (module, name) => getFunction(results.address, module, name),
    allowSharedBytes: (kernel, bytes) => setAttribute(kernel, MAX_DYNAMIC_SHARED, bytes),
    preferShared: (kernel, percent) => setAttribute(kernel, PREFERRED_SHARED, percent),
    launch: (shape, kernel, stream, parameters) => {
      const { grid, block, sharedBytes } = shape;
      if (!shape.programmatic && !shape.cluster)
        return launch(kernel, ...grid, ...block, sharedBytes, stream, parameters, 0);
      return launchExtended(writeLaunchConfig(results, shape, stream), kernel, parameters, 0);
    },
    beginCapture: (stream) => beginCapture(stream, CAPTURE_THREAD_LOCAL),
    endCapture: (stream) => endCapture(stream, results.address),
    instantiate: (graph) => instantiate(results.address, graph, 0),
    launchGraph: call('cuGraphLaunch', 'address', 'address'),
    destroyGraph: call('cuGraphDestroy', 'address'),
    destroyExecutable: call('cuGraphExecDestroy', 'address'),
  } satisfies Partial<DriverCalls>;
}

const MEMORY_TYPE_HOST = 1;
const MEMORY_TYPE_DEVICE = 2;

/**
 * Writes a `CUDA_MEMCPY2D` from host memory to the start of the results, and returns its address. Of source and destination: two
 * offsets, the type of memory, addresses for the host, a device and an array, and the bytes from row to row; then a row's bytes and the
 * number of rows.
 */
function writeRowCopy(
  { view, address }: ResultSpace,
  { to, from, of }: { readonly to: Address; readonly from: Address; readonly of: RowCopy },
): Address {
  const source = [0, 0, MEMORY_TYPE_HOST, from, 0, 0, of.fromStride];
  const destination = [0, 0, MEMORY_TYPE_DEVICE, 0, to, 0, of.toStride];
  for (const [index, value] of [...source, ...destination, of.bytes, of.rows].entries()) {
    view.setUint32(8 * index, value % 2 ** 32, true);
    view.setUint32(8 * index + 4, Math.floor(value / 2 ** 32), true);
  }
  return address;
}

/** `CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION`, `CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION`. */
const CLUSTER_DIMENSION = 4;
const PROGRAMMATIC_SERIALIZATION = 6;
const ATTRIBUTE_BYTES = 72;
const CONFIG_BYTES = 56;

/**
 * Writes a `CUlaunchConfig` with its `CUlaunchAttribute`s to the end of the results, and returns its address: grid,
 * block and shared bytes as words, then stream, attributes and their number. An attribute is its name and, from the ninth byte on, its value.
 */
function writeLaunchConfig(results: ResultSpace, shape: LaunchShape, stream: Address): Address {
  const { view, byteLength } = results;
  const attributes: (readonly number[])[] = [];
  if (shape.programmatic) attributes.push([PROGRAMMATIC_SERIALIZATION, 0, 1]);
  if (shape.cluster) attributes.push([CLUSTER_DIMENSION, 0, shape.cluster, 1, 1]);
  const first = byteLength - attributes.length * ATTRIBUTE_BYTES;
  const config = first - CONFIG_BYTES;
  const words = [...shape.grid, ...shape.block, shape.sharedBytes, 0];
  words.forEach((word, i) => {
    view.setUint32(config + 4 * i, word, true);
  });
  const address = (at: number, value: Address) => {
    view.setUint32(at, value % 2 ** 32, true);
    view.setUint32(at + 4, Math.floor(value / 2 ** 32), true);
  };
  address(config + 32, stream);
  address(config + 40, results.address + first);
  view.setUint32(config + 48, attributes.length, true);
  for (let at = first; at < byteLength; at += 4) view.setUint32(at, 0, true);
  attributes.forEach((attribute, i) => {
    attribute.forEach((word, k) => {
      view.setUint32(first + i * ATTRIBUTE_BYTES + 4 * k, word, true);
    });
  });
  return results.address + config;
}
