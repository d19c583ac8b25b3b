import { Lifetime } from '../../base/disposal.ts';
import { fail } from '../../base/errors.ts';
import type { OpGraph } from '../../ops/graph.ts';
import { buffersOf } from '../binding-check.ts';
import { checkByteLength } from '../byte-length.ts';
import type { Device, DeviceInfo, MemoryInfo } from '../device.ts';
import { HostBuffer } from './host-memory.ts';
import { type HostExecutable, HostProgram, type HostProgramSetup } from './host-program.ts';
import { HostStream, type HostWork } from './host-stream.ts';
import { LiveObjects } from '../live-objects.ts';
import { memoryRules } from '../memory.ts';
import { MemoryBudget } from '../memory-budget.ts';
import type { Executable, Program, Step } from '../program.ts';
import type { Stream } from '../stream.ts';

/** What distinguishes host devices from each other. */
export interface HostDeviceSetup {
  readonly info: DeviceInfo;
  /** Maximum bytes of its buffers and pinned buffers together. */
  readonly memoryBytes: number;
  /** The contents of a new buffer: empty on a device that keeps none. */
  allocate(byteLength: number): Uint8Array;
  readonly moves: Pick<HostWork, 'upload' | 'copy' | 'download' | 'pack'>;
  /** Throws `OP_UNSUPPORTED` for a graph that the device cannot run. */
  compile(graph: OpGraph): Omit<HostProgramSetup, 'owns'>;
}

class HostStep implements Step {
  readonly #lifetime: Lifetime;
  readonly #ended: (step: HostStep) => void;

  constructor(
    readonly label: string,
    readonly executables: readonly HostExecutable[],
    ended: (step: HostStep) => void,
  ) {
    this.#lifetime = new Lifetime(`step ${label}`);
    this.#ended = ended;
  }

  check(): void {
    this.#lifetime.check();
  }

  run(): void {
    this.#lifetime.check();
    for (const executable of this.executables) executable.run();
  }

  [Symbol.dispose](): void {
    if (this.#lifetime.end()) this.#ended(this);
  }
}

/** A device that computes on the calling thread, in the queues of `HostStream`. */
export class HostDevice implements Device {
  readonly info: DeviceInfo;
  readonly lost = new Promise<Error>(() => {});
  readonly memoryRules = memoryRules();
  readonly #setup: HostDeviceSetup;
  readonly #live: LiveObjects;
  readonly #budget: MemoryBudget;
  readonly #created = new WeakSet<Disposable>();

  constructor(setup: HostDeviceSetup) {
    this.#setup = setup;
    this.info = setup.info;
    this.#live = new LiveObjects(`device ${setup.info.backend}`);
    this.#budget = new MemoryBudget(setup.info.backend, setup.memoryBytes);
  }

  async memory(): Promise<MemoryInfo> {
    this.#live.check();
    return this.#budget.info;
  }

  createBuffer(byteLength: number, label: string): HostBuffer {
    return this.#create(byteLength, label, this.#setup.allocate);
  }

  createPinned(byteLength: number, label: string): HostBuffer {
    return this.#create(byteLength, label, (length) => new Uint8Array(length));
  }

  /** Memory that the host reads needs no pinning, and no additional memory. */
  pinReadOnly(bytes: Uint8Array, label: string): HostBuffer {
    this.#live.check();
    const ended = (buffer: HostBuffer) => this.#live.remove(buffer);
    const buffer = new HostBuffer(bytes.byteLength, label, { bytes, ended });
    this.#created.add(buffer);
    return this.#live.add(buffer);
  }

  createStream(label: string): Stream {
    this.#live.check();
    const { moves } = this.#setup;
    const work: HostWork = {
      ...moves,
      run: (step) => (step as HostStep).run(),
      owns: (object) => this.#owns(object),
    };
    return this.#live.add(new HostStream(label, work, (stream) => this.#live.remove(stream)));
  }

  rowCapacities(rows: number): readonly number[] {
    return [rows];
  }

  async compile(graph: OpGraph): Promise<Program> {
    this.#live.check();
    return new HostProgram(graph, {
      ...this.#setup.compile(graph),
      owns: (buffer) => this.#owns(buffer),
    });
  }

  async record(executables: readonly Executable[], label: string): Promise<Step> {
    this.#live.check();
    for (const buffer of buffersOf(executables)) this.#owns(buffer);
    const step = new HostStep(label, executables as readonly HostExecutable[], (ended) =>
      this.#live.remove(ended),
    );
    this.#created.add(step);
    return this.#live.add(step);
  }

  liveObjects(): number {
    return this.#live.count;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#live.disposeAll();
  }

  #create(byteLength: number, label: string, allocate: (byteLength: number) => Uint8Array): HostBuffer {
    this.#live.check();
    checkByteLength(byteLength);
    this.#budget.take(byteLength, label);
    const ended = (buffer: HostBuffer) => {
      this.#live.remove(buffer);
      this.#budget.give(byteLength);
    };
    try {
      const buffer = new HostBuffer(byteLength, label, { bytes: allocate(byteLength), ended });
      this.#created.add(buffer);
      return this.#live.add(buffer);
    } catch (cause) {
      this.#budget.give(byteLength);
      const { free } = this.#budget.info;
      fail('OUT_OF_MEMORY', { device: this.info.backend, what: label, bytes: byteLength, free }, cause);
    }
  }

  #owns(object: Disposable): void {
    this.#live.check();
    if (object instanceof HostStep) object.check();
    if (object instanceof HostBuffer) void object.bytes;
    if (!this.#created.has(object)) {
      const found = 'an object of another device';
      fail('BINDING', {
        graph: this.info.backend,
        value: 'argument',
        found,
        expected: 'an object of this device',
      });
    }
  }
}
