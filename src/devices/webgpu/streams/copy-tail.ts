import type { GPUBuffer, GPUDevice } from '../../../base/web-types.ts';
import { BUFFER_USAGE } from '../gpu-usage.ts';
import { bindGroup, type GpuRange } from '../launching/launch.ts';
import type { KernelModule } from '../launching/kernel-module.ts';
import type { PipelineStore } from '../launching/pipeline-store.ts';

/** Sets the bytes of a word selected by a mask, without changing the others. */
const COPY_TAIL: KernelModule = {
  name: 'copy_tail',
  constants: {},
  parameters: [
    { name: 'job', type: 'vec4<u32>', access: 'uniform' },
    { name: 'source', type: 'array<u32>', access: 'read' },
    { name: 'goal', type: 'array<u32>', access: 'write' },
  ],
  texts: [
    /* wgsl */ `
@compute @workgroup_size(1)
fn main() { goal[job.z] = (goal[job.z] & ~job.x) | (source[job.y] & job.x); }
`,
  ],
};

const ACCESSES = ['uniform', 'read', 'write'] as const;

/** Alignment of bindings. */
const ALIGNMENT = 256;

/** Copies the last bytes of a range, less than a word: WebGPU's own copies take whole words. */
export class CopyTail {
  readonly #device: GPUDevice;
  readonly #store: PipelineStore;

  constructor(device: GPUDevice, store: PipelineStore) {
    this.#device = device;
    this.#store = store;
  }

  /** Compiles the kernel; must be awaited once before the other methods are called. */
  async prepare(): Promise<void> {
    await this.#store.load(COPY_TAIL, ACCESSES);
  }

  /** Writes bytes of the host. */
  write(bytes: Uint8Array, goal: GPUBuffer, offset: number): void {
    const source = this.#small(BUFFER_USAGE.storage);
    const word = new Uint8Array(16);
    word.set(bytes);
    this.#device.queue.writeBuffer(source, 0, word);
    this.copy(source, { offset: 0, byteLength: bytes.byteLength }, goal, offset);
    source.destroy();
  }

  /** Copies between buffers, or within one. */
  copy(
    source: GPUBuffer,
    { offset, byteLength }: { offset: number; byteLength: number },
    goal: GPUBuffer,
    goalOffset: number,
  ): void {
    const small = this.#small(BUFFER_USAGE.storage);
    const job = this.#small(BUFFER_USAGE.uniform);
    const word = (goalOffset % ALIGNMENT) / 4;
    this.#device.queue.writeBuffer(job, 0, Uint32Array.of(2 ** (8 * byteLength) - 1, 0, word, 0));
    const encoder = this.#device.createCommandEncoder();
    encoder.copyBufferToBuffer(source, offset, small, 0, 4);
    const pass = encoder.beginComputePass();
    const kernel = this.#store.loaded(COPY_TAIL, ACCESSES);
    const start = goalOffset - (goalOffset % ALIGNMENT);
    const ranges: GpuRange[] = [
      { buffer: job, offset: 0, byteLength: 16 },
      { buffer: small, offset: 0, byteLength: 16 },
      { buffer: goal, offset: start, byteLength: goalOffset - start + 4 },
    ];
    pass.setPipeline(kernel.pipeline);
    pass.setBindGroup(0, bindGroup(kernel, COPY_TAIL, ranges, this.#device));
    pass.dispatchWorkgroups(1);
    pass.end();
    this.#device.queue.submit([encoder.finish()]);
    small.destroy();
    job.destroy();
  }

  #small(usage: number): GPUBuffer {
    return this.#device.createBuffer({
      size: 16,
      usage: usage | BUFFER_USAGE.copyTarget | BUFFER_USAGE.copySource,
    });
  }
}
