import type { GPUDevice, UnsharedBytes } from '../../../base/web-types.ts';
import { Lifetime } from '../../../base/disposal.ts';
import {
  type BufferRange,
  checkCopySizes,
  checkRange,
  checkRows,
  type DeviceEvent,
  HostEvent,
  type PackedWeight,
  type PinnedRows,
  type Step,
  type Stream,
  type WeightRows,
} from '../../../device/index.ts';
import type { GpuFaults } from '../gpu-faults.ts';
import { BUFFER_USAGE } from '../gpu-usage.ts';
import type { WebGpuStep } from '../launching/webgpu-step.ts';
import type { ReadbackPool } from '../memory/readback-pool.ts';
import { gpuBufferOf, WebGpuBuffer } from '../memory/webgpu-buffer.ts';
import type { CopyTail } from './copy-tail.ts';
import type { Uploader } from './uploader.ts';

const COPIES = BUFFER_USAGE.copySource | BUFFER_USAGE.copyTarget;

/** What a stream needs of its device. */
export interface StreamSetup {
  readonly device: GPUDevice;
  readonly faults: GpuFaults;
  readonly readbacks: ReadbackPool;
  readonly uploader: Uploader;
  readonly tails: CopyTail;
  /** Throws for an object that is disposed or belongs to another device. */
  owns(object: Disposable): void;
  ended(stream: WebGpuStream): void;
}

/**
 * A stream on the device's single queue. Work is submitted by the call itself, so that the order of the calls of all
 * streams is the order of the work: another stream's event requires no waiting, only its error is passed on.
 */
export class WebGpuStream implements Stream {
  readonly #label: string;
  readonly #setup: StreamSetup;
  readonly #lifetime: Lifetime;
  /** Completions that the queue itself does not report: mappings, readbacks, events of other streams. */
  readonly #pending = new Set<Promise<void>>();
  /**
   * If memory was handed over last, its return implies that everything before it is done: the queue need not be asked.
   */
  #isHandOverLast = false;
  #error: unknown;

  constructor(label: string, setup: StreamSetup) {
    this.#label = label;
    this.#setup = setup;
    this.#lifetime = new Lifetime(`stream ${label}`);
  }

  upload(source: Uint8Array, target: BufferRange): void {
    this.#check('upload target', target, source.byteLength);
    if (this.#failed()) return;
    const whole = source.byteLength - (source.byteLength % 4);
    const buffer = gpuBufferOf(target);
    const { device, tails, uploader } = this.#setup;
    this.#isHandOverLast = false;
    if (whole < source.byteLength) tails.write(source.subarray(whole), buffer, target.offset + whole);
    if (whole === 0) return;
    const handedBack = uploader.copy(source.subarray(0, whole), buffer, target.offset);
    if (handedBack) this.#trackHandOver(handedBack);
    else device.queue.writeBuffer(buffer, target.offset, source as UnsharedBytes, 0, whole);
  }

  copy(source: BufferRange, target: BufferRange): void {
    this.#check('copy source', source, 0);
    this.#check('copy target', target, 0);
    checkCopySizes(source, target, this.#label);
    if (this.#failed()) return;
    const { byteLength } = source;
    this.#isHandOverLast = false;
    const whole = byteLength - (byteLength % 4);
    const [from, to] = [gpuBufferOf(source), gpuBufferOf(target)];
    const { device } = this.#setup;
    const encoder = device.createCommandEncoder();
    // A copy within one buffer goes through another one.
    const between =
      from === to ? device.createBuffer({ size: Math.max(4, whole), usage: COPIES }) : undefined;
    if (between) {
      encoder.copyBufferToBuffer(from, source.offset, between, 0, whole);
      encoder.copyBufferToBuffer(between, 0, to, target.offset, whole);
    } else encoder.copyBufferToBuffer(from, source.offset, to, target.offset, whole);
    device.queue.submit([encoder.finish()]);
    between?.destroy();
    if (whole < byteLength) {
      const tail = { offset: source.offset + whole, byteLength: byteLength - whole };
      this.#setup.tails.copy(from, tail, to, target.offset + whole);
    }
  }

  async download(source: BufferRange, into: Uint8Array): Promise<void> {
    this.#check('download source', source, into.byteLength);
    const read = this.#download(source, into);
    this.#track(read);
    await read;
  }

  pack(weight: PackedWeight, rows: WeightRows, from: PinnedRows, target: BufferRange): void {
    this.#check('pack target', target, weight.byteLength);
    this.#setup.owns(from.pinned);
    checkRows({ graph: this.#label, weight }, rows, from);
    if (this.#failed() || rows.rowCount === 0) return;
    this.#trackHandOver(this.#setup.uploader.pack(weight, rows, from, target));
  }

  run(step: Step): void {
    this.#lifetime.check();
    this.#setup.owns(step);
    this.#isHandOverLast = false;
    if (!this.#failed()) (step as WebGpuStep).submit();
  }

  record(): DeviceEvent {
    this.#lifetime.check();
    return this.#record();
  }

  wait(event: DeviceEvent): void {
    this.#lifetime.check();
    this.#track(event.completed());
  }

  async synchronize(): Promise<void> {
    this.#lifetime.check();
    await this.#record().completed();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#lifetime.end()) return;
    await this.#reached().catch(() => {});
    this.#setup.ended(this);
  }

  #check(value: string, range: BufferRange, byteLength: number): void {
    this.#lifetime.check();
    this.#setup.owns(range.buffer);
    checkRange(range, byteLength, { graph: this.#label, value });
    const pending = range.buffer instanceof WebGpuBuffer ? range.buffer.pending : undefined;
    if (pending) this.#track(pending);
  }

  #record(): HostEvent {
    const event = new HostEvent();
    this.#reached().then(
      () => event.finish(),
      (error: unknown) => event.finish(error),
    );
    return event;
  }

  /** Resolves when everything queued so far is done; rejects with its first error. */
  async #reached(): Promise<void> {
    const pending = [...this.#pending];
    const { device, faults } = this.#setup;
    if (!this.#isHandOverLast && !this.#failed()) await device.queue.onSubmittedWorkDone().catch(() => {});
    await Promise.allSettled(pending);
    await faults.settled();
    if (this.#failed()) throw this.#error;
  }

  async #download(source: BufferRange, into: Uint8Array): Promise<void> {
    const { device, faults, readbacks } = this.#setup;
    if (this.#failed()) throw this.#error;
    const byteLength = Math.ceil(into.byteLength / 4) * 4;
    if (byteLength > 0) {
      const readback = readbacks.take(byteLength);
      const encoder = device.createCommandEncoder();
      encoder.copyBufferToBuffer(gpuBufferOf(source), source.offset, readback.buffer, 0, byteLength);
      device.queue.submit([encoder.finish()]);
      await readbacks.read(readback, into).catch((error: unknown) => faults.explain(error));
    }
    await faults.settled();
    if (this.#failed()) throw this.#error;
  }

  #trackHandOver(handedBack: Promise<void>): void {
    this.#track(handedBack);
    this.#isHandOverLast = true;
  }

  /** Tracks the completion of a call, and its error. */
  #track(ending: Promise<void>): void {
    const kept = ending.then(
      () => {},
      async (error: unknown) => {
        this.#error ??= await this.#setup.faults.explain(error).catch((explained: unknown) => explained);
      },
    );
    this.#pending.add(kept);
    void kept.then(() => this.#pending.delete(kept));
  }

  /** True if something failed before; later work is then skipped. */
  #failed(): boolean {
    this.#error ??= this.#setup.faults.error;
    return this.#error !== undefined;
  }
}
