import type { GPUBuffer, GPUCommandEncoder, GPUDevice } from '../../../base/web-types.ts';
import { alignUp } from '../../../base/bytes.ts';
import { BUFFER_USAGE } from '../gpu-usage.ts';
import { clashingIndices, type GpuRange, type Launch } from './launch.ts';

/** A copy before a step's pass. */
export interface IndexCopy {
  readonly source: GpuRange;
  readonly target: GPUBuffer;
}

/**
 * Copies of index tensors that a step cannot bind in place: WebGPU does not allow binding a buffer for reading if the
 * same dispatch writes another part of it. Created when a step is recorded, filled each time it runs.
 */
export class IndexCopies {
  readonly copies: readonly IndexCopy[];

  constructor(device: GPUDevice, launches: readonly Launch[]) {
    const copies: IndexCopy[] = [];
    this.copies = copies;
    const usage = BUFFER_USAGE.uniform | BUFFER_USAGE.copyTarget;
    for (const source of launches.flatMap(clashingIndices)) {
      if (this.#copyOf(source)) continue;
      const target = device.createBuffer({ size: alignUp(source.byteLength, 16), usage });
      copies.push({ source, target });
    }
  }

  /** The launch with copies in place of what it cannot bind. */
  applyTo(launch: Launch): Launch {
    const clashing = new Set(clashingIndices(launch));
    if (clashing.size === 0) return launch;
    const ranges = launch.ranges.map((range) => {
      const copy = clashing.has(range) ? this.#copyOf(range) : undefined;
      return copy ? { buffer: copy.target, offset: 0, byteLength: range.byteLength } : range;
    });
    return { ...launch, ranges };
  }

  /** Encodes the copies. */
  encode(encoder: GPUCommandEncoder): void {
    for (const { source, target } of this.copies) {
      encoder.copyBufferToBuffer(source.buffer, source.offset, target, 0, alignUp(source.byteLength, 4));
    }
  }

  dispose(): void {
    for (const { target } of this.copies) target.destroy();
  }

  #copyOf({ buffer, offset, byteLength }: GpuRange): IndexCopy | undefined {
    return this.copies.find(
      ({ source }) =>
        source.buffer === buffer && source.offset === offset && source.byteLength === byteLength,
    );
  }
}
