import { Lifetime } from '../../../base/disposal.ts';
import { invariant } from '../../../base/errors.ts';
import {
  type Address,
  type BufferRange,
  checkCopySizes,
  checkRange,
  checkRows,
  type DeviceEvent,
  type PackedWeight,
  type PinnedRows,
  type RowCut,
  rowsBytes,
  type Step,
  type Stream,
  type WeightRows,
} from '../../../device/index.ts';
import type { TensorFormat } from '../../../formats/index.ts';
import type { HipCudaWeight } from '../launching/kernel-set.ts';
import type { Launch } from '../launching/launch.ts';
import { HipCudaStep } from '../launching/hip-cuda-step.ts';
import { isSmallCopy, smallCopy } from '../launching/small-copy.ts';
import { addressOf, HipCudaBuffer } from '../memory/hip-cuda-buffer.ts';
import { HipCudaPinned } from '../memory/hip-cuda-pinned.ts';
import { StreamMemory } from '../memory/stream-memory.ts';
import type { HipCudaContext } from './hip-cuda-context.ts';
import { type EventSetup, HipEvent } from './hip-event.ts';

/** What a stream needs of its device besides the driver. */
export interface StreamSetup {
  readonly context: HipCudaContext;
  readonly events: EventSetup;
  /** The same weight as one of the device's programs. Throws `BINDING` for one of another device. */
  ownWeight(weight: PackedWeight): HipCudaWeight;
  /** Queues launches in order. */
  launch(launches: readonly Launch[], stream: Address): void;
  /** Whether the kernel of small copies is loaded. */
  copiesSmall(): boolean;
  /** Called when a step is left out, for which other ranks would wait. */
  stepFailed(error: unknown): void;
  ended(stream: HipStream): void;
}

/** Addresses of a copy, and its size. */
interface CopyOf {
  readonly to: Address;
  readonly from: Address;
  readonly bytes: number;
}

/** A non-blocking stream of the driver: a HIP stream, or under CUDA a `CUstream`, whose calls are the same. */
export class HipStream implements Stream {
  readonly #label: string;
  readonly #setup: StreamSetup;
  readonly #handle: Address;
  readonly #lifetime: Lifetime;
  #error: unknown;
  /** Device memory in which rows wait to be packed. */
  readonly #rows: StreamMemory;
  readonly #detour: StreamMemory;

  constructor(label: string, setup: StreamSetup) {
    this.#label = label;
    this.#setup = setup;
    this.#lifetime = new Lifetime(`stream ${label}`);
    const { driver } = setup.context;
    this.#handle = driver.createStream(label);
    this.#rows = new StreamMemory(driver, `rows of ${label}`);
    this.#detour = new StreamMemory(driver, `reads of ${label}`);
  }

  upload(source: Uint8Array, target: BufferRange): void {
    this.#check('upload target', target, source.byteLength);
    if (source.byteLength === 0) return;
    const { staging, pinnedOf } = this.#setup.context;
    const to = addressOf(target);
    const bytes = source.byteLength;
    const pinned = pinnedOf(source);
    if (pinned) {
      const from = pinned.addressOf(source);
      this.#enqueue(() => this.#send(pinned, { to, from, bytes }));
      return;
    }
    this.#enqueue(() => {
      const slot = staging.take(bytes);
      slot.bytes.set(source);
      try {
        this.#send(slot, { to, from: slot.addressOf(slot.bytes), bytes });
      } finally {
        staging.giveAfter(slot, this.#handle);
      }
    });
  }

  copy(source: BufferRange, target: BufferRange): void {
    this.#check('copy source', source, 0);
    this.#check('copy target', target, 0);
    checkCopySizes(source, target, this.#label);
    const bytes = source.byteLength;
    if (bytes === 0) return;
    const from = addressOf(source);
    const to = addressOf(target);
    const { driver } = this.#setup.context;
    const isOnHost = source.buffer instanceof HipCudaBuffer && source.buffer.place === 'host';
    this.#enqueue(() =>
      isOnHost ? driver.upload(to, from, bytes, this.#handle) : driver.copy(to, from, bytes, this.#handle),
    );
  }

  download(source: BufferRange, into: Uint8Array): Promise<void> {
    this.#check('download source', source, into.byteLength);
    if (into.byteLength === 0) return this.#record().completed();
    const { staging, pinnedOf } = this.#setup.context;
    const bytes = into.byteLength;
    const pinned = pinnedOf(into);
    if (pinned) {
      this.#read(pinned, pinned.addressOf(into), source, bytes);
      return this.#record().completed();
    }
    const slot = this.#enqueue(() => staging.take(bytes));
    if (!slot) return this.#record().completed();
    this.#read(slot, slot.addressOf(slot.bytes), source, bytes);
    return this.#record()
      .completed()
      .then(() => into.set(slot.bytes.subarray(0, bytes)))
      .finally(() => staging.give(slot));
  }

  #send(pinned: HipCudaPinned, of: CopyOf): void {
    if (!this.#copySmall(pinned, of)) {
      this.#setup.context.driver.upload(of.to, of.from, of.bytes, this.#handle);
    }
  }

  #read(pinned: HipCudaPinned, to: Address, source: BufferRange, bytes: number): void {
    this.#enqueue(() => {
      if (this.#copySmall(pinned, { to, from: addressOf(source), bytes })) return;
      const stream = { handle: this.#handle, detour: this.#detour };
      this.#setup.context.reads.read(to, source, bytes, stream);
    });
  }

  /** Queues a copy from or to pinned memory as a kernel, if it is one that is faster so; the copy engines are not waited for. */
  #copySmall(pinned: HipCudaPinned, { to, from, bytes }: CopyOf): boolean {
    const can = pinned.isMapped && isSmallCopy(to, from, bytes) && this.#setup.copiesSmall();
    if (can) this.#setup.launch([smallCopy(to, from, bytes)], this.#handle);
    return can;
  }

  pack(weight: PackedWeight, rows: WeightRows, from: PinnedRows, target: BufferRange): void {
    this.#check('pack target', target, weight.byteLength);
    const { pinned, offset, cut, maxBytes = 0, onCopy } = from;
    const { context } = this.#setup;
    const isOfDriver = pinned instanceof HipCudaPinned && pinned.library === context.driver.library;
    if (!isOfDriver) context.owns(pinned);
    invariant(pinned instanceof HipCudaPinned, 'a HIP or CUDA device pins native memory');
    const own = this.#setup.ownWeight(weight);
    const decodes = (part: number, format: TensorFormat) => own.decodes?.(part, format) !== undefined;
    checkRows({ graph: this.#label, weight, decodes }, rows, from);
    const bytes = rowsBytes(weight, rows);
    if (bytes === 0) return;
    const source = pinned.addressOf(pinned.bytes.subarray(offset));
    const to = addressOf(target);
    this.#enqueue(() => {
      const packing = own.pack(rows, to);
      if (typeof packing === 'number') {
        this.#uploadRows(packing, source, { bytes, rowCount: rows.rowCount, cut });
        return;
      }
      const staged = this.#rows.take(Math.max(bytes, maxBytes));
      this.#uploadRows(staged, source, { bytes, rowCount: rows.rowCount, cut });
      onCopy?.(this.#record());
      this.#setup.launch(packing(staged), this.#handle);
    });
  }

  /** Copies rows to where they follow one another. */
  #uploadRows(
    to: Address,
    from: Address,
    of: { readonly bytes: number; readonly rowCount: number; readonly cut: RowCut | undefined },
  ): void {
    const { driver } = this.#setup.context;
    const { bytes, rowCount, cut } = of;
    if (!cut) return driver.upload(to, from, bytes, this.#handle);
    const { stride: fromStride } = cut;
    const toStride = bytes / rowCount;
    let rowTo = to;
    for (const { start, end } of cut.rows) {
      const rows = end - start;
      const first = from + start * fromStride;
      let pieceTo = rowTo;
      // Whole rows follow one another there, too.
      if (toStride === fromStride) driver.upload(rowTo, first, rows * toStride, this.#handle);
      else {
        for (const piece of cut.bytes) {
          const copy = { rows, bytes: piece.end - piece.start, toStride, fromStride };
          driver.uploadRows(pieceTo, first + piece.start, copy, this.#handle);
          pieceTo += copy.bytes;
        }
      }
      rowTo += rows * toStride;
    }
    return undefined;
  }

  run(step: Step): void {
    this.#lifetime.check();
    this.#setup.context.owns(step);
    invariant(step instanceof HipCudaStep, 'a HIP or CUDA stream runs HIP or CUDA steps');
    const { executable } = step;
    this.#enqueue(() => this.#setup.context.driver.launchGraph(executable, this.#handle));
    if (this.#error !== undefined) this.#setup.stepFailed(this.#error);
  }

  record(): HipEvent {
    this.#lifetime.check();
    return this.#record();
  }

  wait(event: DeviceEvent): void {
    this.#lifetime.check();
    invariant(event instanceof HipEvent, 'a HIP or CUDA stream waits for events of such streams');
    this.#error ??= event.error;
    const { handle } = event;
    if (handle !== undefined) {
      this.#enqueue(() => this.#setup.context.driver.waitEvent(this.#handle, handle));
    }
  }

  async synchronize(): Promise<void> {
    this.#lifetime.check();
    await this.#record().completed();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#lifetime.end()) return;
    await this.#drained();
    this.#rows[Symbol.dispose]();
    this.#detour[Symbol.dispose]();
    this.#setup.context.driver.destroyStream(this.#handle);
    this.#setup.ended(this);
  }

  /** Resolves when the driver is done with what was queued, even if later work failed before. */
  async #drained(): Promise<void> {
    try {
      const last = HipEvent.record(this.#setup.events, this.#handle);
      await new Promise<void>((resolve) => last.whenSettled(resolve));
    } catch (error) {
      this.#setup.context.logger.debug('a stream ends without its last event', {
        stream: this.#label,
        error,
      });
    }
  }

  #check(value: string, range: BufferRange, byteLength: number): void {
    this.#lifetime.check();
    this.#setup.context.owns(range.buffer);
    checkRange(range, byteLength, { graph: this.#label, value });
  }

  /** Queues work, unless earlier work failed; an error fails everything after it. */
  #enqueue<T>(work: () => T): T | undefined {
    if (this.#error !== undefined) return undefined;
    try {
      return work();
    } catch (error) {
      this.#error = error;
      return undefined;
    }
  }

  #record(): HipEvent {
    const event = this.#enqueue(() => HipEvent.record(this.#setup.events, this.#handle));
    return event ?? HipEvent.failed(this.#setup.events, this.#handle, this.#error);
  }
}
