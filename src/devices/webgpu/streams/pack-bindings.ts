import type { GPUBindGroup, GPUBuffer } from '../../../base/web-types.ts';
import type { GpuRange } from '../launching/launch.ts';
import { jobOffset } from '../memory/mapped-pinned.ts';

/** Seven words, padded to whole vectors like all bindings. */
const JOB_BYTES = 32;

/** The bindings of a packing kernel: its words and the file's bytes in `source`, and a chunk of a weight. */
export interface PackBinding {
  readonly source: GPUBuffer;
  /** Which words belong to the kernel. */
  readonly index: number;
  readonly range: GpuRange;
}

/**
 * The bind groups of packing kernels, which share one layout. A weight arrives in several pieces, which are all bound
 * alike.
 */
export class PackBindings {
  readonly #bySource = new WeakMap<GPUBuffer, WeakMap<GPUBuffer, Map<string, GPUBindGroup>>>();

  /** A cached bind group, or one that `make` creates for the ranges: words, bytes, weight. */
  of(
    { source, index, range }: PackBinding,
    make: (ranges: readonly GpuRange[]) => GPUBindGroup,
  ): GPUBindGroup {
    const groups = this.#groups(source, range.buffer);
    const key = `${index} ${range.offset} ${range.byteLength}`;
    const known = groups.get(key);
    if (known) return known;
    const made = make([
      { buffer: source, offset: jobOffset(index), byteLength: JOB_BYTES },
      { buffer: source, offset: 0, byteLength: source.size },
      range,
    ]);
    groups.set(key, made);
    return made;
  }

  #groups(source: GPUBuffer, weight: GPUBuffer): Map<string, GPUBindGroup> {
    const ofSource = this.#bySource.get(source) ?? new WeakMap<GPUBuffer, Map<string, GPUBindGroup>>();
    this.#bySource.set(source, ofSource);
    const groups = ofSource.get(weight) ?? new Map<string, GPUBindGroup>();
    ofSource.set(weight, groups);
    return groups;
  }
}
