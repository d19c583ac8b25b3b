import { fail, isRocmforgeError } from '../base/errors.ts';
import { type Logger, silentLogger } from '../base/log.ts';
import { checkOptions, type OptionNames } from '../base/options.ts';
import {
  checkLinkChoice,
  type Device,
  type DeviceInfo,
  type LinkChoice,
  type MemoryInfo,
} from '../device/index.ts';
import type { GpuLayers } from '../plan/parts/plan-options.ts';
import type { CpuKernels } from './cpu-kernels.ts';

const MAX_RANKS = 64;
const MAX_INDEX = 1023;

/** Over which devices a model is split: so many of a kind, all of that kind, or those with the given indices. */
export type Ranks = number | 'all' | readonly number[];

/** Every `WorkerSplit`. */
export const WORKER_SPLITS = ['layers', 'tensors'] as const;

/** What workers have of a model: some of its `layers` each, or a part of every layer, as the devices of `tensorParallel` do (`tensors`). */
export type WorkerSplit = (typeof WORKER_SPLITS)[number];

/** A request for a device. */
export interface DeviceRequest {
  /** `auto`, or a backend with an optional index: `hip`, `cuda:1`, `cpu`. */
  readonly device?: string | undefined;
  /** Threads of the CPU device. Default: the physical cores that the process may use. */
  readonly threads?: number | undefined;
  /**
   * Kernels of the CPU device: `auto` (the default) runs native ones where they are there or a C++ compiler can make them, otherwise
   * WebAssembly; `native` insists on them; `wasm` does without.
   */
  readonly cpuKernels?: CpuKernels | undefined;
  /**
   * The devices over which a model is split (tensor parallelism): a number of them, with consecutive indices from that of `device`; `all`
   * of the kind; or their indices. `auto` splits over GPUs only; CPU devices share the threads. Adapters, taps, streamed experts,
   * predictors and saved states need a single device. Default 1.
   */
  readonly tensorParallel?: Ranks | undefined;
  /**
   * Stages of layers, each on as many devices as `tensorParallel` says, which is then a number: for GPUs that cannot see one another's
   * memory, or a model too large for those that can. One step is on one stage at a time. Default 1.
   */
  readonly pipelineParallel?: number | undefined;
  /**
   * What computes what the devices of a split model have in common: their kernels, which need peer access (`peer`), NCCL or RCCL
   * (`nccl`), or the `host`. `peer` and `nccl` need more than one device in a stage. Default `auto`: the first of these that is possible.
   */
  readonly link?: LinkChoice | undefined;
  /** As `PlanOptions`: with a number of layers or `auto`, the CPU is opened beside the GPU. Default: the device has the whole model. */
  readonly gpuLayers?: GpuLayers | undefined;
  /**
   * Devices of other processes, each with a stage of consecutive layers before those of `device`, which has the last ones, or with its
   * part of every layer (`workerSplit`): workers of this host or another one by their addresses (`host:port`, see `WorkerServer`), and processes that are started here and end with the
   * device (`process`, or `process=cuda:1` for a device). Adapters and the like are possible as on a pipeline. Default: none.
   */
  readonly workers?: readonly string[] | undefined;
  /**
   * What the workers have: `layers`, or `tensors`: they and `device` are the ranks of one group, each with a single device of the same kind
   * and a process of its own. NCCL or RCCL computes what they have in common, or the host, through the connections. Default `layers`.
   */
  readonly workerSplit?: WorkerSplit | undefined;
  /** The secret of the workers that are not started here. Default: the environment's `ROCMFORGE_WORKER_SECRET`. */
  readonly workerSecret?: string | undefined;
  /** Seconds after which a worker that is silent counts as lost. Default 30. */
  readonly workerDeadline?: number | undefined;
  /** Gives up workers that have not answered yet. */
  readonly signal?: AbortSignal | undefined;
  /** Receives messages about opening. Default: none. */
  readonly logger?: Logger | undefined;
}

/** The names of `DeviceRequest`. */
export const DEVICE_REQUEST: OptionNames<DeviceRequest> = {
  device: true,
  threads: true,
  cpuKernels: true,
  tensorParallel: true,
  pipelineParallel: true,
  link: true,
  gpuLayers: true,
  workers: true,
  workerSplit: true,
  workerSecret: true,
  workerDeadline: true,
  signal: true,
  logger: true,
};

/** The properties of a device, or why it could not be opened. */
export interface DeviceReport {
  /** The name for `--device`: `hip:0`, `cpu`; the backend alone if it has no device. */
  readonly device: string;
  /** The part of `device` before the colon. */
  readonly backend: string;
  /** The device's own name. */
  readonly name?: string;
  /** Further properties, by backend-specific names. */
  readonly details?: Readonly<Record<string, string | number | boolean>>;
  readonly memory?: MemoryInfo;
  /** Why it could not be opened. */
  readonly error?: string;
}

/** Receives a device that is still being opened, of which only `compile` may be called yet. */
type OnDescribed = (device: Device) => void;

/** Opens devices of a kind together; all or none. */
type OpenAll = (
  request: DeviceRequest,
  indices: readonly number[],
  onDescribed: (devices: readonly Device[]) => void,
) => Promise<readonly Device[]>;

/** A device that is being opened. */
export interface DeviceOpening {
  /**
   * The device as soon as its `compile` may be called. The final device may be a different one, or there may be none.
   * For most devices, this is when they are open. Never rejects.
   */
  readonly described: Promise<Device | undefined>;
  /** Rejects as `openDevice`. */
  readonly opened: Promise<Device>;
}

/** A backend of this platform: how to open and how to list its devices. */
interface Backend {
  readonly name: string;
  /** Whether `auto` considers it, in the order of the list, and whether it is listed. */
  readonly automatic: boolean;
  open(request: DeviceRequest, index: number, onDescribed: OnDescribed): Promise<Device>;
  /** Where that is more than opening each. */
  readonly openAll?: OpenAll;
  /** Reports its devices, if there may be several. */
  report?(): Promise<readonly DeviceReport[]>;
}

/**
 * The backends of Node, best first. The code of a backend is loaded on demand: loading all takes a tenth of a second.
 */
const BACKENDS: readonly Backend[] = [
  {
    name: 'hip',
    automatic: true,
    open: (request, index, onDescribed) => openGpu('hip', { ...request, index, onDescribed }),
    openAll: (request, indices, onDescribed) => openGpus('hip', { ...request, indices, onDescribed }),
    report: () => reportGpus('hip'),
  },
  {
    name: 'cuda',
    automatic: true,
    open: (request, index, onDescribed) => openGpu('cuda', { ...request, index, onDescribed }),
    openAll: (request, indices, onDescribed) => openGpus('cuda', { ...request, indices, onDescribed }),
    report: () => reportGpus('cuda'),
  },
  {
    name: 'webgpu',
    automatic: true,
    open: async ({ device }, index) => {
      const { openWebGpu } = await import('./open-webgpu.ts');
      return openWebGpu({ index, software: device !== undefined && device !== 'auto' });
    },
    report: async () => (await import('./webgpu-devices.ts')).reportWebGpu(),
  },
  {
    name: 'cpu',
    automatic: true,
    open: async (request) => (await import('./open-cpu.ts')).openCpu(request),
  },
  {
    name: 'reference',
    automatic: false,
    open: async () => (await import('../devices/reference/index.ts')).openReferenceDevice(),
  },
  {
    name: 'null',
    automatic: false,
    open: async () => (await import('../devices/null/index.ts')).openNullDevice(),
  },
];

async function openGpu(
  driver: 'hip' | 'cuda',
  { logger, index, onDescribed }: DeviceRequest & { index: number; onDescribed: OnDescribed },
): Promise<Device> {
  const { openHipCuda } = await import('./open-hip-cuda.ts');
  return openHipCuda({ driver, index, logger, onDescribed });
}

async function openGpus(
  driver: 'hip' | 'cuda',
  {
    logger,
    indices,
    onDescribed,
  }: DeviceRequest & {
    indices: readonly number[];
    onDescribed: (devices: readonly Device[]) => void;
  },
): Promise<readonly Device[]> {
  const { openHipCudas } = await import('./open-hip-cuda.ts');
  return openHipCudas({ driver, indices, logger, onDescribed });
}

async function reportGpus(driver: 'hip' | 'cuda'): Promise<readonly DeviceReport[]> {
  const { reportHipCudaDevices } = await import('./hip-cuda-devices.ts');
  return reportHipCudaDevices(driver);
}

/** The names for `DeviceRequest.device`. */
export const DEVICE_NAMES: readonly string[] = ['auto', ...BACKENDS.map(({ name }) => name)];

/**
 * Opens the requested device; `auto` takes the first that opens, and the log says why better ones did not. Rejects with
 * `INVALID_ARGUMENT` for an unknown name, with `DEVICE_UNAVAILABLE`, or with the error that prevented opening.
 */
export async function openDevice(request: DeviceRequest = {}): Promise<Device> {
  checkOptions('openDevice', request, DEVICE_REQUEST);
  return await open(request, () => {}, crypto.randomUUID());
}

/**
 * Starts what `openDevice` does, for callers with other work to do meanwhile. With the same object, `reopenDevice` gets the same workers
 * again: one for each device that is opened.
 */
export function beginDevice(request: DeviceRequest): DeviceOpening {
  let onDescribed: OnDescribed = () => {};
  const early = new Promise<Device>((resolve) => {
    onDescribed = resolve;
  });
  const opened = open(request, onDescribed, sessionOf(request));
  return { opened, described: Promise.race([early, opened]).catch(() => undefined) };
}

async function open(request: DeviceRequest, onDescribed: OnDescribed, session: string): Promise<Device> {
  checkRanks(request);
  const { gpuLayers, workers } = request;
  if (workers !== undefined) return await openWithWorkers(request, workers, session);
  if (gpuLayers === 0) return await openNamed(onCpu(request), onDescribed);
  if (gpuLayers !== undefined && gpuLayers !== 'all') return await openBesideCpu(request, gpuLayers);
  return await openNamed(request, onDescribed);
}

/** What a request's workers know it by, so that a device that is opened again gets those that it had. */
const sessions = new WeakMap<DeviceRequest, string>();

function sessionOf(request: DeviceRequest): string {
  const session = sessions.get(request) ?? crypto.randomUUID();
  sessions.set(request, session);
  return session;
}

/** Opens devices of other processes and one of this one as the stages of a model, or as the ranks of its layers. */
async function openWithWorkers(
  request: DeviceRequest,
  workers: readonly string[],
  session: string,
): Promise<Device> {
  checkWorkers(request, workers);
  const { link, workerSplit = 'layers', logger } = request;
  const { cpuKernels, workerSecret: secret, workerDeadline: deadline, signal } = request;
  const [{ DeviceGroup, DevicePipeline }, { checkAddresses, openWorkers, startedHere }] = await Promise.all([
    import('../devices/group/index.ts'),
    import('./open-workers.ts'),
  ]);
  checkAddresses(workers);
  const areRanks = workerSplit === 'tensors';
  // Ranks compute at the same time, on the same cores if they are here.
  const threads = areRanks
    ? await sharedThreads(request, workers.filter(startedHere).length)
    : request.threads;
  const how = { request: { threads, cpuKernels }, session, secret, deadline, signal };
  const here = areRanks ? { ...request, threads, link: undefined } : request;
  const [own, others] = await Promise.allSettled([openNamed(here, () => {}), openWorkers(workers, how)]);
  const elsewhere = others.status === 'fulfilled' ? others.value : [];
  const opened = [...elsewhere, ...(own.status === 'fulfilled' ? [own.value] : [])];
  try {
    if (own.status === 'rejected') throw own.reason;
    if (others.status === 'rejected') throw others.reason;
    if (!areRanks) return new DevicePipeline([...elsewhere, own.value]);
    const ranks = [own.value, ...elsewhere];
    checkApart([own.value, ...elsewhere.filter((worker) => worker.here)]);
    return new DeviceGroup(ranks, { link, logger });
  } catch (error) {
    await Promise.all(opened.map((device) => device[Symbol.asyncDispose]()));
    throw error;
  }
}

/** Threads of each of a CPU's ranks in processes of this host: this one's, and so many others. */
async function sharedThreads({ threads }: DeviceRequest, others: number): Promise<number> {
  const { usableCores } = await import('./cpu-threads.ts');
  return Math.max(1, Math.floor((threads ?? usableCores()) / (1 + others)));
}

/** Throws `INVALID_ARGUMENT` for devices of this host of which two are the same GPU: they would wait for one another on it. */
function checkApart(devices: readonly Device[]): void {
  const places = devices.flatMap(({ info }) => info.details.bus ?? []);
  const twice = places.find((place, index) => places.indexOf(place) !== index);
  if (twice === undefined) return;
  const expected = 'another GPU for each, such as process=cuda:1 beside the device cuda:0';
  fail('INVALID_ARGUMENT', { name: 'workers', found: `two ranks on the GPU at ${twice}`, expected });
}

/** Throws `INVALID_ARGUMENT` unless there are some, and one stage here, or one rank. */
function checkWorkers(
  { pipelineParallel = 1, tensorParallel = 1, gpuLayers = 'all', workerSplit = 'layers' }: DeviceRequest,
  workers: unknown,
): void {
  const areTexts = Array.isArray(workers) && workers.every((worker) => typeof worker === 'string');
  if (!areTexts || workers.length === 0 || workers.length >= MAX_RANKS) {
    const expected = `1 to ${MAX_RANKS - 1} of host:port, process or process=DEVICE`;
    fail('INVALID_ARGUMENT', { name: 'workers', found: String(workers) || 'none', expected });
  }
  if (pipelineParallel !== 1 || gpuLayers !== 'all') {
    const found = pipelineParallel === 1 ? `gpuLayers ${gpuLayers}` : `${pipelineParallel} stages here`;
    const expected = 'one stage here, with all layers of it on one device';
    fail('INVALID_ARGUMENT', { name: 'workers', found, expected });
  }
  if (workerSplit === 'layers' || tensorParallel === 1) return;
  const found = `workerSplit ${workerSplit} with tensorParallel ${String(tensorParallel)}`;
  const expected = 'one device here, and a worker for each other one, such as process=cuda:1';
  fail('INVALID_ARGUMENT', { name: 'workers', found, expected });
}

/**
 * Opens the CPU and a GPU as the stages of a model; with `auto`, the CPU alone if there is no GPU. Rejects with `INVALID_ARGUMENT` if the
 * device asked for is the CPU.
 */
async function openBesideCpu(request: DeviceRequest, gpuLayers: number | 'auto'): Promise<Device> {
  const { device = 'auto', logger = silentLogger } = request;
  const isAuto = gpuLayers === 'auto';
  const openCpuAlone = () => openNamed(onCpu(request), () => {});
  if (isCpu(device)) {
    if (isAuto) return await openCpuAlone();
    const expected = '0 layers on a GPU with the device cpu';
    return fail('INVALID_ARGUMENT', { name: 'gpuLayers', found: String(gpuLayers), expected });
  }
  const onGpus = (backend: Backend) => backend.report !== undefined;
  const opening = device === 'auto' ? openBest(request, () => {}, onGpus) : openNamed(request, () => {});
  const gpu = await opening.catch((error: unknown) => {
    if (!isAuto || device !== 'auto') throw error;
    logger.debug('no GPU beside the CPU', { reason: messageOf(error) });
    return undefined;
  });
  if (!gpu) return await openCpuAlone();
  try {
    const [{ DevicePipeline }, cpu] = await Promise.all([
      import('../devices/group/index.ts'),
      openNamed(onCpu(request), () => {}),
    ]);
    return new DevicePipeline([cpu, gpu]);
  } catch (error) {
    await gpu[Symbol.asyncDispose]();
    throw error;
  }
}

/** The CPU for a request: over how many devices a model is split, and how, is said of the GPUs, unless the CPU itself is asked for. */
function onCpu(request: DeviceRequest): DeviceRequest {
  if (isCpu(request.device)) return request;
  return { ...request, device: 'cpu', tensorParallel: 1, link: undefined };
}

/** There is one CPU, whose index may be said. */
function isCpu(device: string | undefined): boolean {
  return /^cpu(?::\d+)?$/.test(device ?? '');
}

async function openNamed(request: DeviceRequest, onDescribed: OnDescribed): Promise<Device> {
  const wanted = request.device ?? 'auto';
  if (wanted === 'auto') return await openBest(request, onDescribed);
  const [, name, index = '0'] = /^(\w+)(?::(\d+))?$/.exec(wanted) ?? [];
  const backend = BACKENDS.find((known) => known.name === name);
  if (!backend) {
    const expected = `${DEVICE_NAMES.join(', ')}, with an index where there are several: hip:1`;
    return fail('INVALID_ARGUMENT', { name: 'device', found: wanted, expected });
  }
  if (!backend.report && Number(index) !== 0) {
    fail('DEVICE_UNAVAILABLE', { device: wanted, why: 'there is one of this kind, index 0' });
  }
  return await openRanks(backend, request, { index: Number(index), onDescribed });
}

/** Opens a backend's device or, for a model that is split, a group of devices. */
async function openRanks(
  backend: Backend,
  request: DeviceRequest,
  { index, onDescribed }: { readonly index: number; readonly onDescribed: OnDescribed },
): Promise<Device> {
  const { pipelineParallel: stages = 1, link } = request;
  const indices = await indicesOf(backend, request, index);
  const [only = index] = indices;
  if (indices.length === stages && (link === 'peer' || link === 'nccl')) {
    const expected = 'auto or host where there is one device in a stage, or a higher tensorParallel';
    fail('INVALID_ARGUMENT', { name: 'link', found: link, expected });
  }
  if (indices.length === 1) return backend.open(request, only, onDescribed);
  const [{ DeviceGroup, DevicePipeline }, { usableCores }] = await Promise.all([
    import('../devices/group/index.ts'),
    import('./cpu-threads.ts'),
  ]);
  const threads = Math.max(1, Math.floor((request.threads ?? usableCores()) / indices.length));
  let group: Device | undefined;
  const groupOf = (devices: readonly Device[]) => (group ??= new DeviceGroup(devices, { link }));
  const openAll = backend.openAll ?? openingEach(backend);
  if (stages > 1) {
    const ranks = indices.length / stages;
    const devices = await openAll({ ...request, threads }, indices, () => {});
    const ofStage = (stage: number) => devices.slice(stage * ranks, (stage + 1) * ranks);
    return new DevicePipeline(
      Array.from({ length: stages }, (_, stage) => {
        const [device] = ofStage(stage);
        return ranks === 1 ? (device as Device) : new DeviceGroup(ofStage(stage), { link });
      }),
    );
  }
  const devices = await openAll({ ...request, threads }, indices, (described) =>
    onDescribed(groupOf(described)),
  );
  return groupOf(devices);
}

/** Opens each by itself, at the same time. */
function openingEach(backend: Backend): OpenAll {
  return async (request, indices) => {
    const opened = await Promise.allSettled(indices.map((own) => backend.open(request, own, () => {})));
    const devices = opened.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    const failed = opened.find((one) => one.status === 'rejected');
    if (!failed) return devices;
    for (const device of devices) await device[Symbol.asyncDispose]();
    throw failed.reason;
  };
}

/** The indices of the devices that a request means, of which the first is `index` unless the request names them itself. */
async function indicesOf(
  { name, report }: Backend,
  { device = 'auto', tensorParallel: wanted = 1, pipelineParallel: stages = 1 }: DeviceRequest,
  index: number,
): Promise<readonly number[]> {
  // Where there is one device of a kind, it is opened several times.
  if (typeof wanted === 'number') {
    return Array.from({ length: wanted * stages }, (_, rank) => (report ? index + rank : index));
  }
  if (!report || device.includes(':')) {
    const found = `${String(wanted)} with the device ${device}`;
    const expected = report ? `the device ${name}, without an index` : `a number: ${name} has no indices`;
    fail('INVALID_ARGUMENT', { name: 'tensorParallel', found, expected });
  }
  if (wanted !== 'all') return wanted;
  const found = (await report()).filter(({ error }) => error === undefined);
  if (found.length === 0) fail('DEVICE_UNAVAILABLE', { device: name, why: 'there is none of this kind' });
  return found.slice(0, MAX_RANKS).map((_, rank) => rank);
}

/** Throws `INVALID_ARGUMENT` unless it says over which devices, in which stages, linked by what. */
function checkRanks({
  tensorParallel: ranks = 1,
  pipelineParallel: stages = 1,
  link = 'auto',
  gpuLayers,
  workers,
  workerSplit,
  workerSecret,
  workerDeadline,
}: DeviceRequest): void {
  checkLinkChoice(link);
  for (const [name, value] of Object.entries({ workerSecret, workerDeadline })) {
    if (value === undefined || workers) continue;
    fail('INVALID_ARGUMENT', { name, found: 'no workers', expected: 'workers, which it is for' });
  }
  if (workerSplit !== undefined && !(workers && WORKER_SPLITS.includes(workerSplit))) {
    const found = workers ? workerSplit : `${workerSplit} without workers`;
    const expected = `${WORKER_SPLITS.join(' or ')}, of workers`;
    fail('INVALID_ARGUMENT', { name: 'workerSplit', found, expected });
  }
  const areRanks =
    ranks === 'all' ||
    (typeof ranks === 'number' && isCount(ranks, 1, MAX_RANKS)) ||
    (Array.isArray(ranks) && areIndices(ranks));
  if (!areRanks) {
    const expected = `a whole number from 1 to ${MAX_RANKS}, all, or different indices`;
    fail('INVALID_ARGUMENT', { name: 'tensorParallel', found: String(ranks), expected });
  }
  const most = typeof ranks === 'number' ? Math.floor(MAX_RANKS / ranks) : 1;
  if (!isCount(stages, 1, most)) {
    const expected = `a whole number of stages, of at most ${MAX_RANKS} devices together, each of a number of devices`;
    fail('INVALID_ARGUMENT', { name: 'pipelineParallel', found: String(stages), expected });
  }
  if (stages > 1 && gpuLayers !== undefined) {
    const found = `${gpuLayers} with ${stages} stages of GPUs`;
    fail('INVALID_ARGUMENT', { name: 'gpuLayers', found, expected: 'one stage of them' });
  }
  const isLayers = gpuLayers === undefined || gpuLayers === 'auto' || gpuLayers === 'all';
  if (!isLayers && !isCount(gpuLayers, 0, Number.MAX_SAFE_INTEGER)) {
    const expected = 'a whole number of layers, auto or all';
    fail('INVALID_ARGUMENT', { name: 'gpuLayers', found: String(gpuLayers), expected });
  }
}

function areIndices(indices: readonly unknown[]): boolean {
  const isIndex = (index: unknown) => typeof index === 'number' && isCount(index, 0, MAX_INDEX);
  return indices.length > 0 && indices.every(isIndex) && new Set(indices).size === indices.length;
}

function isCount(value: number, least: number, most: number): boolean {
  return Number.isSafeInteger(value) && value >= least && value <= most;
}

/**
 * The device of a further engine with the same model, whose first one is on `device` (not `auto`): that many indices on, where there
 * may be several of its kind, otherwise the same.
 */
export function replicaDevice(device: string, replica: number): string {
  const [, name, index = '0'] = /^(\w+)(?::(\d+))?$/.exec(device) ?? [];
  const isOneOfSeveral = BACKENDS.some((backend) => backend.name === name && backend.report);
  return isOneOfSeveral ? `${name}:${Number(index) + replica}` : device;
}

/** Reopens the device of a request after it was lost: for `auto`, with the same backend; for `all`, as many as there were. */
export async function reopenDevice(
  { backend, details }: DeviceInfo,
  request: DeviceRequest,
): Promise<Device> {
  const { device = 'auto', tensorParallel } = request;
  const ranks = tensorParallel === 'all' ? Number(details?.ranks ?? 1) : tensorParallel;
  // What gave up the first opening says nothing of this one.
  const again = {
    ...request,
    device: device === 'auto' ? backend : device,
    tensorParallel: ranks,
    signal: undefined,
  };
  return await open(again, () => {}, sessionOf(request));
}

async function openBest(
  request: DeviceRequest,
  onDescribed: OnDescribed,
  isWanted: (backend: Backend) => boolean = () => true,
): Promise<Device> {
  const { logger = silentLogger, tensorParallel = 1, pipelineParallel = 1 } = request;
  const failures: unknown[] = [];
  const isSplit = tensorParallel !== 1 || pipelineParallel !== 1;
  const backends = BACKENDS.filter(({ automatic, report }) => automatic && (report || !isSplit));
  for (const backend of backends.filter(isWanted)) {
    const { name } = backend;
    try {
      const device = await openRanks(backend, request, { index: 0, onDescribed });
      logger.debug('device opened', { device: name, name: device.info.name });
      return device;
    } catch (error) {
      logger.debug('device not available', { device: name, reason: messageOf(error) });
      failures.push(error);
    }
  }
  if (!isSplit) throw failures.at(-1);
  // What is refused on the GPUs that there are says more than that there are none of another kind.
  const refused = failures.find((error) => isRocmforgeError(error, 'INVALID_ARGUMENT'));
  if (refused !== undefined) throw refused;
  const why = `there are no GPUs that a model can be split over (${failures.map(messageOf).join('; ')}); ranks on the CPU have to be asked for: device: 'cpu'`;
  return fail('DEVICE_UNAVAILABLE', { device: 'auto', why }, failures.at(-1));
}

/**
 * Reports every device that `auto` may take and others of the same kinds, each opened for its properties; never
 * rejects.
 */
export async function reportDevices(): Promise<DeviceReport[]> {
  const reports: DeviceReport[] = [];
  for (const backend of BACKENDS.filter(({ automatic }) => automatic)) {
    reports.push(...(await (backend.report?.() ?? reportOnly(backend))));
  }
  return reports;
}

/** Reports a backend that has a single device. */
async function reportOnly({ name: backend, open: openOf }: Backend): Promise<DeviceReport[]> {
  try {
    await using device = await openOf({}, 0, () => {});
    const { name, details } = device.info;
    return [{ device: backend, backend, name, details, memory: await device.memory() }];
  } catch (error) {
    return [{ device: backend, backend, error: messageOf(error) }];
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
