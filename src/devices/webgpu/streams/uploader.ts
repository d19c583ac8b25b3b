import type { GPUBuffer, GPUDevice } from '../../../base/web-types.ts';
import {
  type BufferRange,
  type PackedWeight,
  type PinnedRows,
  rowsBytes,
  type WeightRows,
} from '../../../device/index.ts';
import { BUFFER_USAGE } from '../gpu-usage.ts';
import { bindGroup } from '../launching/launch.ts';
import type { PipelineStore } from '../launching/pipeline-store.ts';
import type { HostRows, KernelRows, PackMethod, WebGpuWeight } from '../lowering/webgpu-weight.ts';
import { HEADER_BYTES, MappedPinned, MAX_JOBS } from '../memory/mapped-pinned.ts';
import { PACK_SOURCES, packSourceBytes } from '../memory/memory-rules.ts';
import type { StagingPool } from '../memory/staging-pool.ts';
import { gpuBufferOf } from '../memory/webgpu-buffer.ts';
import { PackBindings } from './pack-bindings.ts';

/** Rows in mapped memory, and their target. */
interface Packing {
  readonly ways: readonly PackMethod[];
  /** Offset of the rows in the memory. */
  readonly offset: number;
  readonly target: BufferRange;
}

/** Mapped memory that was handed over, and how much of it the host may have written. */
interface HandedOver {
  readonly buffer: GPUBuffer;
  readonly byteLength: number;
}

/**
 * Uploads rows of weights: data passes through mapped memory, then either directly into the weight or through a buffer
 * that a packing kernel reads. All work goes to the single queue in the order of the calls.
 */
export class Uploader {
  readonly #device: GPUDevice;
  readonly #store: PipelineStore;
  readonly #staging: StagingPool;
  readonly #sources: GPUBuffer[] = [];
  readonly #mapped = new Set<MappedPinned>();
  readonly #bindings = new PackBindings();
  #turn = 0;

  constructor(device: GPUDevice, store: PipelineStore, staging: StagingPool) {
    this.#device = device;
    this.#store = store;
    this.#staging = staging;
  }

  /** Mapped memory that weights are read into. */
  createPinned(byteLength: number, label: string, ended: (pinned: MappedPinned) => void): MappedPinned {
    const pinned = new MappedPinned(byteLength, label, {
      device: this.#device,
      ended: () => {
        this.#mapped.delete(pinned);
        ended(pinned);
      },
    });
    this.#mapped.add(pinned);
    return pinned;
  }

  /**
   * Queues packing the rows into `target`. Resolves when the device is done and the host may write the memory again.
   */
  pack(weight: PackedWeight, rows: WeightRows, from: PinnedRows, target: BufferRange): Promise<void> {
    const { pinned, offset } = from;
    const ways = (weight as WebGpuWeight).pack(rows);
    const isDirect = offset % 4 === 0 && ways.length <= MAX_JOBS && ways.every(isUntouched);
    if (isDirect && pinned instanceof MappedPinned) return this.#handOver(pinned, { ways, offset, target });
    const bytes = pinned.bytes.subarray(offset, offset + rowsBytes(weight, rows));
    const staged = ways.map((way) => this.#stage(way, bytes, target));
    return Promise.all(staged).then(() => {});
  }

  /**
   * Queues the copy of whole words from mapped memory. Resolves as `pack`; returns undefined, without queueing
   * anything, for other memory.
   */
  copy(source: Uint8Array, goal: GPUBuffer, goalOffset: number): Promise<void> | undefined {
    const pinned = this.#pinnedOf(source);
    if (!pinned || source.byteOffset % 4 !== 0) return undefined;
    const { byteOffset, byteLength } = source;
    return pinned.handOver([], (buffer) => {
      const encoder = this.#device.createCommandEncoder();
      encoder.copyBufferToBuffer(buffer, byteOffset, goal, goalOffset, byteLength);
      this.#device.queue.submit([encoder.finish()]);
    });
  }

  /** Compiles what packing rows of the weight requires. */
  async prepare(weight: WebGpuWeight): Promise<void> {
    for (const [part] of weight.parts.entries()) {
      const [way] = weight.pack({ part, firstRow: 0, rowCount: weight.rowAlignment });
      if (way?.kind === 'kernel') await this.#store.load(way.module, accesses(way));
    }
  }

  dispose(): void {
    for (const source of this.#sources.splice(0)) source.destroy();
  }

  #pinnedOf(source: Uint8Array): MappedPinned | undefined {
    for (const pinned of this.#mapped) if (pinned.holds(source)) return pinned;
    return undefined;
  }

  /** Uploads the file's bytes, or the layout's bytes made from them, through a slot of the pool. */
  #stage(way: PackMethod, bytes: Uint8Array, target: BufferRange): Promise<void> {
    const slot = this.#staging.take(way.kind === 'host' ? way.byteLength : bytes.byteLength);
    if (way.kind === 'host' && !way.unchanged) way.fill(bytes, slot.bytes);
    else slot.bytes.set(bytes);
    return this.#staging.giveAfter(slot, this.#handOver(slot, { ways: [way], offset: 0, target }));
  }

  #handOver(pinned: MappedPinned, packing: Packing): Promise<void> {
    const begin = HEADER_BYTES + packing.offset;
    const jobs = packing.ways.map((way) =>
      way.kind === 'kernel' ? Uint32Array.of(begin + way.from, ...way.job.slice(1)) : new Uint32Array(),
    );
    return pinned.handOver(jobs, (buffer) => {
      const encoder = this.#device.createCommandEncoder();
      for (const way of packing.ways) {
        if (way.kind === 'host') copyRows(encoder, way, { buffer, begin, target: packing.target });
      }
      this.#packByKernels(encoder, packing, { buffer, byteLength: pinned.byteLength });
      this.#device.queue.submit([encoder.finish()]);
    });
  }

  /** One copy for all kernels, including their words. */
  #packByKernels(encoder: GPUCommandEncoder, { ways, offset, target }: Packing, mapped: HandedOver): void {
    const end = Math.max(0, ...ways.map((way) => (way.kind === 'kernel' ? way.from + way.fromBytes : 0)));
    if (end === 0) return;
    const byteLength = Math.ceil((HEADER_BYTES + offset + end) / 4) * 4;
    const source = this.#nextSource(packSourceBytes(mapped.byteLength));
    encoder.copyBufferToBuffer(mapped.buffer, 0, source, 0, byteLength);
    const weight = gpuBufferOf(target);
    const pass = encoder.beginComputePass();
    for (const [index, way] of ways.entries()) {
      if (way.kind === 'host') continue;
      const kernel = this.#store.loadedAsDeclared(way.module);
      pass.setPipeline(kernel.pipeline);
      const range = { buffer: weight, offset: target.offset + way.target, byteLength: way.byteLength };
      pass.setBindGroup(
        0,
        this.#bindings.of({ source, index, range }, (ranges) =>
          bindGroup(kernel, way.module, ranges, this.#device),
        ),
      );
      const most = this.#device.limits.maxComputeWorkgroupsPerDimension;
      pass.dispatchWorkgroups(Math.min(way.workgroups, most), Math.ceil(way.workgroups / most));
    }
    pass.end();
  }

  #nextSource(size: number): GPUBuffer {
    const index = this.#turn;
    this.#turn = (index + 1) % PACK_SOURCES;
    const known = this.#sources[index];
    if (known && known.size >= size) return known;
    known?.destroy();
    const usage = BUFFER_USAGE.storage | BUFFER_USAGE.uniform | BUFFER_USAGE.copyTarget;
    const source = this.#device.createBuffer({ size, usage });
    this.#sources[index] = source;
    return source;
  }
}

function copyRows(
  encoder: GPUCommandEncoder,
  { target: at, byteLength }: HostRows,
  { buffer, begin, target }: { buffer: GPUBuffer; begin: number; target: BufferRange },
): void {
  encoder.copyBufferToBuffer(buffer, begin, gpuBufferOf(target), target.offset + at, byteLength);
}

function accesses({ module }: KernelRows) {
  return module.parameters.map(({ access }) => access);
}

/** True for rows that are uploaded as the file's bytes. */
function isUntouched(way: PackMethod): boolean {
  return way.kind === 'kernel' || way.unchanged;
}
