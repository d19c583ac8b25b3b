import { invariant } from '../../../base/errors.ts';
import type { BufferRange, FileRows, PackedWeight } from '../../../device/index.ts';
import { weightRowBytes } from '../../../ops/index.ts';
import { BUFFER_USAGE } from '../gpu-usage.ts';
import { bindGroup } from '../launching/launch.ts';
import type { PipelineStore } from '../launching/pipeline-store.ts';
import type { HostRows, KernelRows, WebGpuWeight } from '../lowering/webgpu-weight.ts';
import { MappedPinned } from '../memory/mapped-pinned.ts';
import type { StagingPool } from '../memory/staging-pool.ts';
import { gpuBufferOf } from '../memory/webgpu-buffer.ts';

/** Bytes on their way: where the device finds them. */
interface Source {
  readonly buffer: GPUBuffer;
  readonly offset: number;
}

/**
 * Brings rows of weights onto the device: bytes pass through mapped memory, then either straight into the weight or through a
 * buffer that a packing kernel reads. All work goes to the one queue in the order of the calls.
 */
export class Uploader {
  readonly #device: GPUDevice;
  readonly #store: PipelineStore;
  readonly #staging: StagingPool;
  /** What packing kernels read; work is queued in order, so one serves all. */
  #source: GPUBuffer | undefined;
  #jobs: GPUBuffer | undefined;

  constructor(device: GPUDevice, store: PipelineStore, staging: StagingPool) {
    this.#device = device;
    this.#store = store;
    this.#staging = staging;
  }

  /** Queues the rows' way into `target`. Resolves when the host may write the pinned memory again. */
  pack(weight: PackedWeight, part: number, rows: FileRows, target: BufferRange): Promise<void> {
    const own = weight as WebGpuWeight;
    const { pinned, offset, firstRow, rowCount } = rows;
    const format = own.parts[part];
    invariant(format, 'the part was checked');
    const byteLength = rowCount * weightRowBytes(format);
    const ways = own.pack(part, firstRow, rowCount);
    const direct = pinned instanceof MappedPinned && offset % 4 === 0 && ways.every(isUntouched);
    if (direct && pinned instanceof MappedPinned) {
      return pinned.handOver((buffer) => {
        for (const way of ways) this.#queue(way, { buffer, offset }, target);
      });
    }
    const bytes = pinned.bytes.subarray(offset, offset + byteLength);
    const staged = ways.map((way) => this.#stage(way, bytes, target));
    return Promise.all(staged).then(() => {});
  }

  /** What has to be compiled before rows of the weight can be packed. */
  async prepare(weight: WebGpuWeight): Promise<void> {
    for (const [part] of weight.parts.entries()) {
      const [way] = weight.pack(part, 0, weight.rowAlignment);
      if (way?.kind === 'kernel') await this.#store.load(way.module, accesses(way));
    }
  }

  dispose(): void {
    this.#source?.destroy();
    this.#jobs?.destroy();
  }

  /** The file's bytes, or the layout's made of them, through a slot of our own. */
  #stage(way: HostRows | KernelRows, bytes: Uint8Array, target: BufferRange): Promise<void> {
    const slot = this.#staging.take(way.kind === 'host' ? way.byteLength : bytes.byteLength);
    if (way.kind === 'host' && !way.unchanged) way.fill(bytes, slot.bytes);
    else slot.bytes.set(bytes);
    const back = slot.handOver((buffer) => this.#queue(way, { buffer, offset: 0 }, target));
    return this.#staging.giveAfter(slot, back);
  }

  #queue(way: HostRows | KernelRows, from: Source, target: BufferRange): void {
    const encoder = this.#device.createCommandEncoder();
    const weight = gpuBufferOf(target);
    if (way.kind === 'host') {
      encoder.copyBufferToBuffer(
        from.buffer,
        from.offset,
        weight,
        target.offset + way.target,
        way.byteLength,
      );
    } else this.#packByKernel(encoder, way, from, { buffer: weight, offset: target.offset + way.target });
    this.#device.queue.submit([encoder.finish()]);
  }

  #packByKernel(encoder: GPUCommandEncoder, way: KernelRows, from: Source, weight: Source): void {
    const kernel = this.#store.loaded(way.module, accesses(way));
    const start = Math.floor((from.offset + way.from) / 4) * 4;
    const byteLength = Math.ceil((from.offset + way.from - start + way.fromBytes) / 4) * 4;
    const source = this.#sourceOf(byteLength);
    const jobs = (this.#jobs ??= this.#device.createBuffer({
      size: 16,
      usage: BUFFER_USAGE.uniform | BUFFER_USAGE.copyTarget,
    }));
    const [, ...job] = way.job;
    this.#device.queue.writeBuffer(jobs, 0, Uint32Array.of(from.offset + way.from - start, ...job));
    encoder.copyBufferToBuffer(from.buffer, start, source, 0, byteLength);
    const pass = encoder.beginComputePass();
    pass.setPipeline(kernel.pipeline);
    const ranges = [
      { buffer: jobs, offset: 0, byteLength: 16 },
      { buffer: source, offset: 0, byteLength: source.size },
      { ...weight, byteLength: way.byteLength },
    ];
    pass.setBindGroup(0, bindGroup(kernel, way.module, ranges, this.#device));
    const most = this.#device.limits.maxComputeWorkgroupsPerDimension;
    pass.dispatchWorkgroups(Math.min(way.workgroups, most), Math.ceil(way.workgroups / most));
    pass.end();
  }

  #sourceOf(byteLength: number): GPUBuffer {
    if (this.#source && this.#source.size >= byteLength) return this.#source;
    this.#source?.destroy();
    const size = 2 ** Math.ceil(Math.log2(Math.max(byteLength, 1 << 16)));
    this.#source = this.#device.createBuffer({ size, usage: BUFFER_USAGE.storage | BUFFER_USAGE.copyTarget });
    return this.#source;
  }
}

function accesses({ module }: KernelRows) {
  return module.parameters.map(({ access }) => access);
}

/** True for rows that go to the device as the file's bytes. */
function isUntouched(way: HostRows | KernelRows): boolean {
  return way.kind === 'kernel' || way.unchanged;
}
