import { fail } from '../base/errors.ts';
import { checkOptions, type OptionNames } from '../base/options.ts';
import { SharedRoom } from '../base/shared-room.ts';
import type { Device } from '../device/index.ts';

/** Options of shared memory. */
export interface SharedDeviceMemoryOptions {
  /** Bytes for everything that its models use on the device. Default: the device's free memory. */
  readonly memory?: number | undefined;
}

const SHARED_MEMORY_OPTIONS: OptionNames<SharedDeviceMemoryOptions> = { memory: true };

/**
 * The memory of a device that several models share: what a model needs besides its weights is reserved while it is
 * open; weights stay until others need the memory, and the least recently used are evicted first. Weights that are
 * held, because work with them is being queued, are never evicted. The caller owns the device.
 */
export class SharedDeviceMemory {
  readonly device: Device;
  /** Bytes for everything. */
  readonly memory: number;
  /** The weights that have memory, counted in bytes. @internal */
  readonly room: SharedRoom;

  private constructor(device: Device, memory: number) {
    this.device = device;
    this.memory = memory;
    this.room = new SharedRoom({
      size: memory,
      waiting: 'waiting for memory that other models use',
      refuse: ({ use, size: bytes, free }) => {
        const what = use === 'hold' ? 'weights' : 'what a model needs besides its weights';
        return fail('OUT_OF_MEMORY', { device: device.info.backend, what, bytes, free });
      },
    });
  }

  /** Rejects with `INVALID_ARGUMENT` for an invalid budget, and for a pipeline, whose stages have no memory in common. */
  static async open(device: Device, options: SharedDeviceMemoryOptions = {}): Promise<SharedDeviceMemory> {
    checkOptions('SharedDeviceMemory', options, SHARED_MEMORY_OPTIONS);
    if (device.stages) {
      const expected = 'one device or a group; models on a pipeline are opened without shared memory';
      fail('INVALID_ARGUMENT', { name: 'device', found: `${device.stages.length} stages`, expected });
    }
    const { free } = await device.memory();
    const { memory = free } = options;
    if (Number.isSafeInteger(memory) && memory > 0) return new SharedDeviceMemory(device, memory);
    return fail('INVALID_ARGUMENT', { name: 'memory', found: `${memory}`, expected: 'a count of bytes' });
  }

  /** Bytes of the weights that currently have memory. */
  get weights(): number {
    return this.room.used;
  }
}
