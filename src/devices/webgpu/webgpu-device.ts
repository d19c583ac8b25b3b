import type { GPUDevice } from '../../base/web-types.ts';
import { fail } from '../../base/errors.ts';
import {
  buffersOf,
  checkByteLength,
  type Device,
  type DeviceInfo,
  type Executable,
  HostBuffer,
  LiveObjects,
  MemoryBudget,
  type MemoryInfo,
  type MemoryRules,
  type PinnedBuffer,
  type PinnedUse,
  type Program,
  type Step,
} from '../../device/index.ts';
import type { OpGraph } from '../../ops/index.ts';
import { GpuFaults } from './gpu-faults.ts';
import type { GpuTarget } from './gpu-target.ts';
import type { DispatchTime } from './launching/dispatch-times.ts';
import { IndexCopies } from './launching/index-copies.ts';
import { accessesOf, prepareLaunch } from './launching/launch.ts';
import { PipelineStore } from './launching/pipeline-store.ts';
import { type WebGpuExecutable, WebGpuProgram } from './webgpu-program.ts';
import { WebGpuStep } from './launching/webgpu-step.ts';
import { lowerGraph } from './lowering/lower-graph.ts';
import { type SharedGpu, webGpuMemory } from './memory/memory-rules.ts';
import { ReadbackPool } from './memory/readback-pool.ts';
import { StagingPool } from './memory/staging-pool.ts';
import { WebGpuBuffer } from './memory/webgpu-buffer.ts';
import { CopyTail } from './streams/copy-tail.ts';
import { Uploader } from './streams/uploader.ts';
import { WebGpuStream } from './streams/webgpu-stream.ts';

/**
 * A single row has kernels that quantize it themselves, up to eight rows use the matrix-vector kernels, and a product's
 * tile has 16, 32, 64 or more: capacities in between gain little and take long to compile. On software adapters, where
 * compiling takes longest, one row is enough.
 */
const ROW_CAPACITIES = [1, 8, 16, 32, 64];

/** The parts of a device. */
export interface WebGpuDeviceSetup {
  readonly device: GPUDevice;
  readonly target: GpuTarget;
  readonly info: DeviceInfo;
  /** Maximum total bytes of buffers; WebGPU does not report the size of memory. */
  readonly memoryBytes: number;
  readonly shared: SharedGpu;
}

/** A GPU through WebGPU. Opened by `openWebGpuDevice`. */
export class WebGpuDevice implements Device {
  readonly info: DeviceInfo;
  /** @internal */
  readonly target: GpuTarget;
  readonly #device: GPUDevice;
  readonly #shared: SharedGpu;
  readonly #faults: GpuFaults;
  readonly #budget: MemoryBudget;
  readonly #live = new LiveObjects('device webgpu');
  readonly #created = new WeakSet<Disposable>();
  readonly #store: PipelineStore;
  readonly #readbacks: ReadbackPool;
  readonly #staging: StagingPool;
  readonly #uploader: Uploader;
  readonly #tails: CopyTail;

  constructor({ device, target, info, memoryBytes, shared }: WebGpuDeviceSetup) {
    this.info = info;
    this.target = target;
    this.#device = device;
    this.#shared = shared;
    this.#faults = new GpuFaults(device, info.backend);
    this.#budget = new MemoryBudget(info.backend, memoryBytes);
    this.#store = new PipelineStore(device, info.name);
    this.#readbacks = new ReadbackPool(this.#faults);
    this.#staging = new StagingPool(device);
    this.#uploader = new Uploader(device, this.#store, this.#staging);
    this.#tails = new CopyTail(device, this.#store);
  }

  get lost(): Promise<Error> {
    return this.#faults.lost;
  }

  /** The first failure that made the device unusable: its loss, or a command that the implementation refused. */
  get fault(): Error | undefined {
    return this.#faults.error;
  }

  /** Compiles what streams need; part of opening. @internal */
  async prepare(): Promise<void> {
    await this.#tails.prepare();
  }

  get memoryRules(): MemoryRules {
    return webGpuMemory(this.#device.limits.maxBufferSize, this.#shared);
  }

  async memory(): Promise<MemoryInfo> {
    this.#live.check();
    return this.#budget.info;
  }

  createBuffer(byteLength: number, label: string): WebGpuBuffer {
    this.#live.check();
    checkByteLength(byteLength);
    const { maxBufferSize } = this.#device.limits;
    if (byteLength > maxBufferSize) {
      fail('OUT_OF_MEMORY', { device: 'webgpu', what: label, bytes: byteLength, free: maxBufferSize });
    }
    this.#budget.take(byteLength, label);
    const ended = (buffer: WebGpuBuffer) => {
      this.#live.remove(buffer);
      this.#budget.give(byteLength);
    };
    return this.#add(new WebGpuBuffer(byteLength, label, { faults: this.#faults, ended }));
  }

  createPinned(byteLength: number, label: string, use: PinnedUse = 'inputs'): PinnedBuffer & Disposable {
    this.#live.check();
    checkByteLength(byteLength);
    if (use === 'weights') {
      this.#shared.hasLoaded = true;
      return this.#add(this.#uploader.createPinned(byteLength, label, (pinned) => this.#live.remove(pinned)));
    }
    const ended = (buffer: HostBuffer) => this.#live.remove(buffer);
    return this.#add(new HostBuffer(byteLength, label, { bytes: new Uint8Array(byteLength), ended }));
  }

  createStream(label: string): WebGpuStream {
    this.#live.check();
    const stream = new WebGpuStream(label, {
      device: this.#device,
      faults: this.#faults,
      readbacks: this.#readbacks,
      uploader: this.#uploader,
      tails: this.#tails,
      owns: (object) => this.#owns(object),
      ended: (ended) => this.#live.remove(ended),
    });
    return this.#live.add(stream);
  }

  rowCapacities(rows: number): readonly number[] {
    const capacities = this.info.details.software ? ROW_CAPACITIES.slice(0, 1) : ROW_CAPACITIES;
    return [...capacities.filter((capacity) => capacity < rows), rows];
  }

  async compile(graph: OpGraph): Promise<Program> {
    this.#live.check();
    const lowered = lowerGraph(graph, this.target);
    const kernels = lowered.templates.map(({ module, args }) =>
      this.#store.load(
        module,
        accessesOf(
          module,
          args.map(({ of }) => of),
        ),
      ),
    );
    await Promise.all([...kernels, ...lowered.weights.map((weight) => this.#uploader.prepare(weight))]);
    this.#live.check();
    return new WebGpuProgram(graph, lowered, (object) => this.#owns(object));
  }

  async record(executables: readonly Executable[], label: string): Promise<Step> {
    this.#live.check();
    await this.#faults.settled();
    for (const buffer of buffersOf(executables)) this.#owns(buffer);
    const launches = executables.flatMap((executable) => (executable as WebGpuExecutable).launches);
    const indices = new IndexCopies(this.#device, launches);
    try {
      const dispatches = await Promise.all(
        launches.map((launch) => prepareLaunch(indices.applyTo(launch), this.#store, this.#device)),
      );
      this.#live.check();
      if (this.#faults.error) throw this.#faults.error;
      const ended = (step: WebGpuStep) => this.#live.remove(step);
      return this.#add(new WebGpuStep(label, dispatches, { device: this.#device, indices, ended }));
    } catch (error) {
      indices.dispose();
      throw error;
    }
  }

  /**
   * Runs a step recorded by this device with each dispatch timed separately; undefined if the GPU has no timestamps.
   * The time of a dispatch includes its initial waiting.
   */
  async timeDispatches(step: Step): Promise<DispatchTime[] | undefined> {
    this.#owns(step);
    return this.target.timestamps ? (step as WebGpuStep).time() : undefined;
  }

  /** Destroys the GPU device while it is in use, as a driver reset would. */
  lose(): void {
    this.#device.destroy();
  }

  liveObjects(): number {
    return this.#live.count;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#live.ended) return;
    await this.#live.disposeAll();
    this.#readbacks.dispose();
    this.#staging.dispose();
    this.#uploader.dispose();
    this.#device.destroy();
    this.#faults[Symbol.dispose]();
  }

  #add<T extends Disposable>(object: T): T {
    this.#created.add(object);
    return this.#live.add(object);
  }

  #owns(object: Disposable): void {
    this.#live.check();
    if (object instanceof WebGpuStep) object.check();
    if (object instanceof WebGpuBuffer) void object.gpu;
    if (object instanceof HostBuffer) void object.bytes;
    if (this.#created.has(object)) return;
    const found = 'an object of another device';
    fail('BINDING', { graph: 'webgpu', value: 'argument', found, expected: 'an object of this device' });
  }
}
