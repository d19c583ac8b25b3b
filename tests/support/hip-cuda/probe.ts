import { asBytes } from '../../../src/base/bytes.ts';
import { type DeviceBuffer, wholeOf } from '../../../src/device/index.ts';
import {
  type GraphAddresses,
  type KernelArgument,
  type KernelModule,
  type KernelSet,
  type Launch,
  type HipCudaBuffer,
  type HipCudaDevice,
  pointer,
} from '../../../src/devices/hip-cuda/index.ts';
import { GraphBuilder } from '../../../src/ops/index.ts';

/** The kernels in `kernels/probe.hip`. */
export const PROBE: KernelModule = { file: 'probe.hip', defines: {} };

/** The launch of a probe kernel. */
export interface ProbeLaunch {
  readonly kernel: string;
  readonly threads?: number;
  readonly blocks?: number;
  readonly sharedBytes?: number;
  readonly args: readonly KernelArgument[];
}

/** A kernel set that lowers every graph to the given launches. */
export function fixedKernels(modules: readonly KernelModule[], launches: () => readonly Launch[]): KernelSet {
  return {
    copiedRows: () => Number.POSITIVE_INFINITY,
    lower: () => ({
      weights: [],
      scratchBytes: 0,
      modules,
      launches: (_: GraphAddresses) => launches(),
    }),
  };
}

/** Launches probe kernels on a device that uses the prober's kernel set. */
export class Prober {
  #launches: readonly Launch[] = [];
  readonly kernels: KernelSet;
  readonly #module: KernelModule;

  constructor(module: KernelModule = PROBE) {
    this.#module = module;
    this.kernels = fixedKernels([module], () => this.#launches);
  }

  /** Captures launches into a step and runs it `times` times. */
  async run(device: HipCudaDevice, probes: readonly ProbeLaunch[], times = 1): Promise<void> {
    this.#launches = probes.map(({ kernel, threads = 64, blocks = 1, sharedBytes = 0, args }) => ({
      kind: 'kernel',
      module: this.#module,
      kernel,
      grid: [blocks, 1, 1],
      block: [threads, 1, 1],
      sharedBytes,
      args,
    }));
    const graph = new GraphBuilder('probe', { rows: 1, outputs: 1, slots: 1, blocksPerSlot: 1 }).finish();
    const program = await device.compile(graph);
    const buffer = device.createBuffer(1024, 'inputs');
    const values = new Map(graph.inputs.map((tensor) => [tensor, wholeOf(buffer)]));
    const executable = program.bind({ values, outputs: new Map(), weights: new Map(), scratch: undefined });
    const step = await device.record([executable], 'probe');
    const stream = device.createStream('probe');
    try {
      for (let i = 0; i < times; i++) stream.run(step);
      await stream.synchronize();
    } finally {
      await stream[Symbol.asyncDispose]();
      step[Symbol.dispose]();
      buffer[Symbol.dispose]();
    }
  }
}

/** A device buffer with these contents. */
export async function bufferOf(device: HipCudaDevice, contents: ArrayBufferView): Promise<HipCudaBuffer> {
  const buffer = device.createBuffer(contents.byteLength, 'probe');
  await using stream = device.createStream('probe');
  stream.upload(asBytes(contents), wholeOf(buffer));
  await stream.synchronize();
  return buffer;
}

/** Reads the start of a buffer into a typed array, and disposes the buffer. */
export async function readInto<T extends ArrayBufferView>(
  device: HipCudaDevice,
  buffer: DeviceBuffer,
  into: T,
): Promise<T> {
  await using stream = device.createStream('probe');
  await stream.download(wholeOf(buffer), asBytes(into));
  return into;
}

/** A pointer argument to a buffer at `offset` bytes. */
export function at(buffer: HipCudaBuffer, offset = 0): KernelArgument {
  return pointer(buffer.address + offset);
}
