import type { GPUCommandEncoder, GPUDevice } from '../../../base/web-types.ts';
import { BUFFER_USAGE, MAP_MODE } from '../gpu-usage.ts';
import type { Dispatch } from './launch.ts';

/** The duration of a dispatch. */
export interface DispatchTime {
  /** The kernel's name. */
  readonly name: string;
  readonly grid: readonly [number, number, number];
  readonly nanoseconds: number;
}

/** The GPU's two timestamps of a dispatch, 64 bits each. */
const STAMP_BYTES = 16;

/**
 * Runs dispatches one after another, each in a separate pass between two GPU timestamps. `before` encodes what comes
 * first. Requires the feature `timestamp-query`.
 */
export async function timeDispatches(
  device: GPUDevice,
  dispatches: readonly Dispatch[],
  before: (encoder: GPUCommandEncoder) => void,
): Promise<DispatchTime[]> {
  const count = 2 * dispatches.length;
  const size = STAMP_BYTES * dispatches.length;
  if (size === 0) return [];
  const querySet = device.createQuerySet({ type: 'timestamp', count });
  const stamps = device.createBuffer({ size, usage: BUFFER_USAGE.queryResolve | BUFFER_USAGE.copySource });
  const readback = device.createBuffer({ size, usage: BUFFER_USAGE.mapRead | BUFFER_USAGE.copyTarget });
  try {
    const encoder = device.createCommandEncoder();
    before(encoder);
    dispatches.forEach(({ pipeline, bindGroup, grid }, i) => {
      const timestampWrites = {
        querySet,
        beginningOfPassWriteIndex: 2 * i,
        endOfPassWriteIndex: 2 * i + 1,
      };
      const pass = encoder.beginComputePass({ timestampWrites });
      pass.setPipeline(pipeline);
      pass.setBindGroup(0, bindGroup);
      pass.dispatchWorkgroups(...grid);
      pass.end();
    });
    encoder.resolveQuerySet(querySet, 0, count, stamps, 0);
    encoder.copyBufferToBuffer(stamps, 0, readback, 0, size);
    device.queue.submit([encoder.finish()]);
    await readback.mapAsync(MAP_MODE.read);
    const times = new BigUint64Array(readback.getMappedRange());
    return dispatches.map(({ name, grid }, i) => {
      const nanoseconds = Number((times[2 * i + 1] ?? 0n) - (times[2 * i] ?? 0n));
      return { name, grid, nanoseconds };
    });
  } finally {
    querySet.destroy();
    stamps.destroy();
    readback.destroy();
  }
}
