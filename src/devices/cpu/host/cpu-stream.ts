import { Lifetime } from '../../../base/disposal.ts';
import { fail } from '../../../base/errors.ts';
import {
  type BufferRange,
  checkCopySizes,
  checkRows,
  type DeviceEvent,
  type PackedWeight,
  type PinnedRows,
  type Step,
  type Stream,
  type WeightRows,
} from '../../../device/index.ts';
import type { BankSet } from '../memory/bank-set.ts';
import { type CpuBuffer, ownBuffer, type Place, type PlaceUse, placeOf } from '../memory/cpu-buffer.ts';
import { CpuPackedWeight } from '../lowering/packed-weight.ts';
import { type BankAddress, writeCopy, writePack, writeRun } from '../protocol/command.ts';
import { CpuEvent } from './cpu-event.ts';
import { CpuStep } from './cpu-step.ts';
import { SLOT_BYTES } from './transfer-slots.ts';
import { Command, Download, type TransferContext, Upload } from './transfers.ts';
import type { WorkQueue } from './work-queue.ts';

/** The device's parts that a stream uses. */
export interface StreamContext extends TransferContext {
  readonly queue: WorkQueue;
  readonly banks: BankSet;
  /** Called before each write of weights. */
  willHoldWeights(buffer: CpuBuffer): void;
  /** Called on a stream's disposal. */
  released(stream: CpuStream): void;
}

/** A stream of the device. All streams share the device's single queue, so waiting for another stream is free. */
export class CpuStream implements Stream {
  readonly #context: StreamContext;
  readonly #label: string;
  readonly #life: Lifetime;

  constructor(label: string, context: StreamContext) {
    this.#label = label;
    this.#context = context;
    this.#life = new Lifetime(`stream ${label}`);
  }

  upload(source: Uint8Array, target: BufferRange): void {
    const place = this.#place('upload target', target, source.length);
    const { banks, queue } = this.#context;
    const bank = banks.bankOfView(source);
    if (bank && !(source.length <= SLOT_BYTES && queue.drained)) {
      this.#copy({ bank: bank.id, offset: source.byteOffset }, place, source.length);
    } else queue.push(new Upload(this.#context, source, place));
  }

  copy(source: BufferRange, target: BufferRange): void {
    const from = this.#place('copy source', source);
    const to = this.#place('copy target', target);
    checkCopySizes(source, target, this.#label);
    this.#copy(from, to, source.byteLength);
  }

  async download(source: BufferRange, into: Uint8Array): Promise<void> {
    const place = this.#place('download source', source, into.length);
    const download = new Download(this.#context, place, into);
    this.#context.queue.push(download);
    await download.done;
  }

  pack(weight: PackedWeight, rows: WeightRows, from: PinnedRows, target: BufferRange): void {
    const place = this.#place('pack target', target, weight.byteLength);
    const use = this.#use('pack');
    if (!(weight instanceof CpuPackedWeight)) {
      const found = 'a weight of another kind of device';
      fail('BINDING', { graph: this.#label, value: 'pack', found, expected: 'a weight of this device' });
    }
    this.#context.willHoldWeights(ownBuffer(target.buffer, use));
    const { bank, offset } = ownBuffer(from.pinned, use).allocation;
    checkRows({ graph: this.#label, weight }, rows, from);
    const source = { bank: bank.id, offset: offset + from.offset };
    const work = weight.packWork(rows, { source, target: place });
    this.#context.queue.push(new Command((words) => writePack(words, work)));
  }

  run(step: Step): void {
    this.#life.check();
    if (!(step instanceof CpuStep && step.isOf(this.#context.banks))) {
      const found = 'a step of another device';
      fail('BINDING', { graph: this.#label, value: step.label, found, expected: 'a step of this device' });
    }
    this.#context.queue.push(new Command((words) => writeRun(words, step.id)));
  }

  record(): DeviceEvent {
    this.#life.check();
    return new CpuEvent(this.#context.queue);
  }

  wait(event: DeviceEvent): void {
    this.#life.check();
    if (!(event instanceof CpuEvent)) {
      const found = 'an event of another device';
      fail('BINDING', { graph: this.#label, value: 'event', found, expected: 'an event of this device' });
    }
  }

  async synchronize(): Promise<void> {
    await this.record().completed();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#life.end()) return;
    try {
      await new CpuEvent(this.#context.queue).completed();
    } catch {
      // If the device is lost, its owner is notified elsewhere, and there is nothing to wait for.
    } finally {
      this.#context.released(this);
    }
  }

  #copy(source: BankAddress, target: BankAddress, byteLength: number): void {
    if (byteLength === 0) return;
    const copy = { source, target, byteLength };
    this.#context.queue.push(new Command((words) => writeCopy(words, copy)));
  }

  #place(value: string, range: BufferRange, needed = range.byteLength): Place {
    this.#life.check();
    return placeOf(range, needed, this.#use(value));
  }

  #use(value: string): PlaceUse {
    return { graph: this.#label, value, banks: this.#context.banks };
  }
}
