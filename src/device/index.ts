export type { Device, DeviceInfo, MemoryInfo } from './device.ts';
export {
  BUFFER_ALIGNMENT,
  type BufferRange,
  type DeviceBuffer,
  type PinnedBuffer,
  wholeOf,
} from './memory.ts';
export type { Bindings, Executable, PackedWeight, Program, Step } from './program.ts';
export type { DeviceEvent, FileRows, Stream } from './stream.ts';
export type { WorkerHandle, WorkerHost, WorkerPort } from './worker-host.ts';
