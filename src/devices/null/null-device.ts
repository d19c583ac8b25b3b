import { type Device, HostDevice, planScratch } from '../../device/index.ts';

/** How much memory the null device pretends to have. */
export interface NullDeviceOptions {
  /** Bytes that buffers may take together. */
  readonly memoryBytes?: number;
}

/**
 * Plans, binds, records and orders work like any device, keeps no contents and computes nothing: what is downloaded is
 * zero. For measuring what the host costs, and for tests of planners and loaders.
 */
export function openNullDevice({ memoryBytes = 2 ** 40 }: NullDeviceOptions = {}): Device {
  const nothing = new Uint8Array(0);
  return new HostDevice({
    info: { backend: 'null', name: 'Null', details: {} },
    memoryBytes,
    allocate: () => nothing,
    moves: {
      upload: () => {},
      copy: () => {},
      download: (_source, into) => into.fill(0),
      pack: () => {},
    },
    compile: (graph) => ({ scratchBytes: planScratch(graph).byteLength, prepare: () => () => {} }),
  });
}
