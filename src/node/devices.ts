import { fail } from '../base/errors.ts';
import type { Device } from '../device/index.ts';
import { openNullDevice } from '../devices/null/index.ts';
import { openReferenceDevice } from '../devices/reference/index.ts';
import { loadKoffiFfi } from './koffi-ffi.ts';
import { reportNativeDevices } from './native-devices.ts';
import { openCpu } from './open-cpu.ts';

/** How a device is asked for. */
export interface DeviceRequest {
  /** `auto`, or a backend with an optional index: `cpu`, `cpu:0`. */
  readonly device?: string | undefined;
  /** Threads of the CPU device. Default: the physical cores that the process may use. */
  readonly threads?: number | undefined;
}

/** A backend of this platform: how to open it. */
interface Backend {
  readonly name: string;
  /** Taken for `auto`, in the order of the list. */
  readonly automatic: boolean;
  open(request: DeviceRequest): Promise<Device>;
}

/** What Node can open, the best first. */
const BACKENDS: readonly Backend[] = [
  { name: 'cpu', automatic: true, open: openCpu },
  { name: 'reference', automatic: false, open: async () => openReferenceDevice() },
  { name: 'null', automatic: false, open: async () => openNullDevice() },
];

/** The words that `DeviceRequest.device` takes. */
export const DEVICE_NAMES: readonly string[] = ['auto', ...BACKENDS.map(({ name }) => name)];

/**
 * Opens the device asked for; `auto` takes the first that opens. Rejects with `INVALID_ARGUMENT` for a name that is none
 * and with `DEVICE_UNAVAILABLE` where the device cannot be had.
 */
export async function openDevice(request: DeviceRequest = {}): Promise<Device> {
  const wanted = request.device ?? 'auto';
  const [name, index = '0'] = wanted.split(':');
  const candidates = BACKENDS.filter((backend) =>
    name === 'auto' ? backend.automatic : backend.name === name,
  );
  if (candidates.length === 0) {
    fail('INVALID_ARGUMENT', { name: 'device', found: wanted, expected: DEVICE_NAMES.join(', ') });
  }
  if (index !== '0')
    fail('DEVICE_UNAVAILABLE', { device: wanted, why: 'there is one of this kind, index 0' });
  let failure: unknown;
  for (const backend of candidates) {
    try {
      return await backend.open(request);
    } catch (error) {
      failure = error;
    }
  }
  throw failure;
}

/** A device that was opened to be looked at, or why it could not be. */
export interface DeviceReport {
  readonly backend: string;
  readonly name?: string;
  readonly details?: Readonly<Record<string, string | number | boolean>>;
  readonly memory?: { readonly total: number; readonly free: number };
  readonly error?: string;
}

/** The GPUs under HIP and CUDA, or why there are none. */
async function reportGpus(): Promise<DeviceReport[]> {
  try {
    return reportNativeDevices(await loadKoffiFfi()).map(({ index, ...report }) => ({
      ...report,
      backend: index === undefined ? report.backend : `${report.backend}:${index}`,
    }));
  } catch (error) {
    return [{ backend: 'hip, cuda', error: error instanceof Error ? error.message : String(error) }];
  }
}

/**
 * The GPUs of the machine, then every backend that `auto` may take, opened one after the other, and says what each is.
 */
export async function reportDevices(): Promise<DeviceReport[]> {
  const reports: DeviceReport[] = await reportGpus();
  for (const backend of BACKENDS.filter(({ automatic }) => automatic)) {
    try {
      await using device = await backend.open({});
      const { name, details } = device.info;
      reports.push({ backend: backend.name, name, details, memory: await device.memory() });
    } catch (error) {
      reports.push({ backend: backend.name, error: error instanceof Error ? error.message : String(error) });
    }
  }
  return reports;
}
