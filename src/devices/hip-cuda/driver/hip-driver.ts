import type { Ffi, NativeLibrary } from '../../../device/index.ts';
import { type DeviceAttributes, type DriverCalls, LAUNCH_PARAMETERS } from './driver-calls.ts';
import { type DriverTable, type ReadyDevice, statusCalls } from './driver-table.ts';
import type { ResultSpace } from './result-space.ts';

/** `hipDeviceAttribute_t`, unchanged since ROCm 5.0. */
const ATTRIBUTES: DeviceAttributes = {
  l2Bytes: 19,
  maxThreadsPerBlock: 56,
  multiprocessors: 63,
  sharedBytesOptIn: 74,
  waveSize: 87,
};

/** `hipMemcpyKind`. */
const HOST_TO_DEVICE = 1;
const DEVICE_TO_HOST = 2;
const DEVICE_TO_DEVICE = 3;

const STREAM_NON_BLOCKING = 1;
const EVENT_DEFAULT = 0;
const HOST_MALLOC_PORTABLE = 1;
const HOST_MALLOC_MAPPED = 2;
const HOST_REGISTER_DEFAULT = 0;
/** Allows other threads to allocate while this one captures. */
const CAPTURE_THREAD_LOCAL = 1;

/**
 * The offset of `gcnArchName`. `hipGetDeviceProperties` keeps the structure of ROCm 5; ROCm 6 introduced a new one
 * under a new symbol.
 */
const PROPERTIES = [
  { symbol: 'hipGetDevicePropertiesR0600', targetOffset: 1160 },
  { symbol: 'hipGetDeviceProperties', targetOffset: 396 },
] as const;

/** `hipDeviceMallocFinegrained`: not kept in the device's caches, so that it sees what peers write while a kernel runs. */
const MALLOC_FINE_GRAINED = 1;

/** `hsa_amd_link_info_type_t`. */
const LINK_TYPES = ['HyperTransport', 'QPI', 'PCIe', 'InfiniBand', 'XGMI'];

/** HIP: libamdhip64 of ROCm 5, 6 and 7. */
export const hipDriver: DriverTable = {
  api: 'hip',
  libraries: ['libamdhip64.so.7', 'libamdhip64.so.6', 'libamdhip64.so.5', 'libamdhip64.so'],
  formatVersion: (version) =>
    `${Math.floor(version / 1e7)}.${Math.floor(version / 1e5) % 100}.${version % 1e5}`,
  bind: (library, results) => ({
    ...bindDevices(library, results),
    ...bindPeers(library, results),
    ...bindMemory(library, results),
    ...bindWork(library, results),
  }),
  isLarge: true,
  start,
};

/** HIP initializes a GPU itself, on first use. */
async function start(_ffi: Ffi, library: NativeLibrary): Promise<ReadyDevice> {
  await library.bindAsync('hipInit', 'i32', ['u32'])(0);
  return async () => ({ [Symbol.dispose]: () => {} });
}

function bindDevices(library: NativeLibrary, results: ResultSpace) {
  const call = statusCalls(library);
  const init = call('hipInit', 'u32');
  const attribute = call('hipDeviceGetAttribute', 'address', 'i32', 'i32');
  const use = call('hipSetDevice', 'i32');
  const name = library.bind('hipGetErrorName', 'address', ['i32']);
  const text = library.bind('hipGetErrorString', 'address', ['i32']);
  const { symbol, targetOffset } = PROPERTIES.find((known) => library.has(known.symbol)) ?? PROPERTIES[0];
  const properties = call(symbol, 'address', 'i32');
  const deviceCount = call('hipGetDeviceCount', 'address');
  const version = call('hipRuntimeGetVersion', 'address');
  const deviceName = call('hipDeviceGetName', 'address', 'i32', 'i32');
  const busId = call('hipDeviceGetPCIBusId', 'address', 'i32', 'i32');
  const totalMemory = call('hipDeviceTotalMem', 'address', 'i32');
  return {
    init: () => init(0),
    deviceCount: () => deviceCount(results.address),
    version: () => version(results.address),
    deviceName: (ordinal) => deviceName(results.address, results.byteLength, ordinal),
    busId: (ordinal) => busId(results.address, results.byteLength, ordinal),
    totalMemory: (ordinal) => totalMemory(results.address, ordinal),
    attribute: (which, ordinal) => attribute(results.address, ATTRIBUTES[which], ordinal),
    // The flag for this exists in CUDA only (8 means something else here), and its effect on a file's pages has not
    // been measured.
    pinsReadOnly: () => false,
    target: (ordinal) => {
      const status = properties(results.address, ordinal);
      return { status, name: status === 0 ? results.text(targetOffset) : '' };
    },
    retain: use,
    use,
    release: () => 0,
    describe: (status) => `${results.textAt(name(status))}: ${results.textAt(text(status))}`,
  } satisfies Partial<DriverCalls>;
}

function bindPeers(library: NativeLibrary, results: ResultSpace) {
  const call = statusCalls(library);
  const canAccess = call('hipDeviceCanAccessPeer', 'address', 'i32', 'i32');
  const enable = call('hipDeviceEnablePeerAccess', 'i32', 'u32');
  const link = call('hipExtGetLinkTypeAndHopCount', 'i32', 'i32', 'address', 'address');
  return {
    canAccessPeer: (ordinal, peer) => canAccess(results.address, ordinal, peer),
    enablePeer: (peer) => enable(peer, 0),
    disablePeer: call('hipDeviceDisablePeerAccess', 'i32'),
    peerLink: (ordinal, peer) => {
      const status = link(ordinal, peer, results.address, results.address + 4);
      const [type, hops] = [results.int(0), results.int(1)];
      return { status, name: `${LINK_TYPES[type] ?? `link ${type}`}, hops: ${hops}` };
    },
  } satisfies Partial<DriverCalls>;
}

function bindMemory(library: NativeLibrary, results: ResultSpace) {
  const call = statusCalls(library);
  const memoryInfo = call('hipMemGetInfo', 'address', 'address');
  const allocate = call('hipMalloc', 'address', 'size');
  const allocateShared = call('hipExtMallocWithFlags', 'address', 'size', 'u32');
  const allocatePinned = call('hipHostMalloc', 'address', 'size', 'u32');
  const pin = call('hipHostRegister', 'address', 'size', 'u32');
  const copy = call('hipMemcpyAsync', 'address', 'address', 'size', 'i32', 'address');
  const sizes = ['size', 'size', 'size'] as const;
  const copyRows = call('hipMemcpy2DAsync', 'address', 'size', 'address', ...sizes, 'i32', 'address');
  return {
    memoryInfo: () => memoryInfo(results.address, results.address + 8),
    allocate: (bytes) => allocate(results.address, bytes),
    allocateShared: (bytes) => allocateShared(results.address, bytes, MALLOC_FINE_GRAINED),
    free: call('hipFree', 'address'),
    allocatePinned: (bytes) =>
      allocatePinned(results.address, bytes, HOST_MALLOC_PORTABLE | HOST_MALLOC_MAPPED),
    freePinned: call('hipHostFree', 'address'),
    pin: (address, bytes) => pin(address, bytes, HOST_REGISTER_DEFAULT),
    unpin: call('hipHostUnregister', 'address'),
    upload: (to, from, bytes, stream) => copy(to, from, bytes, HOST_TO_DEVICE, stream),
    uploadRows: (to, from, { rows, bytes, toStride, fromStride }, stream) =>
      copyRows(to, toStride, from, fromStride, bytes, rows, HOST_TO_DEVICE, stream),
    download: (to, from, bytes, stream) => copy(to, from, bytes, DEVICE_TO_HOST, stream),
    copy: (to, from, bytes, stream) => copy(to, from, bytes, DEVICE_TO_DEVICE, stream),
    fill: call('hipMemsetAsync', 'address', 'i32', 'size', 'address'),
  } satisfies Partial<DriverCalls>;
}

function bindWork(library: NativeLibrary, results: ResultSpace) {
  const call = statusCalls(library);
  const createStream = call('hipStreamCreateWithFlags', 'address', 'u32');
  const waitEvent = call('hipStreamWaitEvent', 'address', 'address', 'u32');
  const createEvent = call('hipEventCreateWithFlags', 'address', 'u32');
  const beginCapture = call('hipStreamBeginCapture', 'address', 'i32');
  const instantiate = call('hipGraphInstantiate', 'address', 'address', 'address', 'address', 'size');
  const elapsed = call('hipEventElapsedTime', 'address', 'address', 'address');
  const loadModule = call('hipModuleLoadData', 'address', 'address');
  const getFunction = call('hipModuleGetFunction', 'address', 'address', 'text');
  const endCapture = call('hipStreamEndCapture', 'address', 'address');
  const launch = library.bind('hipModuleLaunchKernel', 'i32', LAUNCH_PARAMETERS);
  return {
    createStream: () => createStream(results.address, STREAM_NON_BLOCKING),
    destroyStream: call('hipStreamDestroy', 'address'),
    queryStream: call('hipStreamQuery', 'address'),
    synchronizeStream: call('hipStreamSynchronize', 'address'),
    waitEvent: (stream, event) => waitEvent(stream, event, 0),
    createEvent: () => createEvent(results.address, EVENT_DEFAULT),
    destroyEvent: call('hipEventDestroy', 'address'),
    recordEvent: call('hipEventRecord', 'address', 'address'),
    queryEvent: call('hipEventQuery', 'address'),
    synchronizeEvent: call('hipEventSynchronize', 'address'),
    elapsed: (from, to) => elapsed(results.address, from, to),
    loadModule: (image) => loadModule(results.address, image),
    unloadModule: call('hipModuleUnload', 'address'),
    function: (module, name) => getFunction(results.address, module, name),
    // AMD's kernels may use all of it without a request, and it is no cache.
    allowSharedBytes: () => 0,
    preferShared: () => 0,
    launch: ({ grid, block, sharedBytes }, kernel, stream, parameters) =>
      launch(kernel, ...grid, ...block, sharedBytes, stream, parameters, 0),
    beginCapture: (stream) => beginCapture(stream, CAPTURE_THREAD_LOCAL),
    endCapture: (stream) => endCapture(stream, results.address),
    instantiate: (graph) => instantiate(results.address, graph, 0, 0, 0),
    launchGraph: call('hipGraphLaunch', 'address', 'address'),
    destroyGraph: call('hipGraphDestroy', 'address'),
    destroyExecutable: call('hipGraphExecDestroy', 'address'),
  } satisfies Partial<DriverCalls>;
}
