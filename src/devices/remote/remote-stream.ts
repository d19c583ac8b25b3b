import { Lifetime } from '../../base/disposal.ts';
import { fail, invariant } from '../../base/errors.ts';
import {
  type BufferRange,
  checkCopySizes,
  checkRange,
  checkRows,
  type DeviceEvent,
  type FileRows,
  type PackedWeight,
  type PinnedRows,
  rowsBytes,
  type Step,
  type Stream,
  type WeightRows,
} from '../../device/index.ts';
import type { TensorFormat } from '../../formats/index.ts';
import { FRAME, type Frame } from './frame.ts';
import type { RemoteCalls } from './remote-calls.ts';
import { RemoteEvent } from './remote-event.ts';
import { type RemoteBuffer, remoteBuffer } from './remote-memory.ts';
import { RemoteWeight } from './remote-program.ts';
import type { SentRows } from './sent-rows.ts';

/** Bytes that are moved by one frame at most, so that the other side needs no more memory for them. A multiple of any alignment. */
const MOVED_AT_ONCE = 32 * 2 ** 20;

/** A recorded step of a remote device, named by a number. */
export class RemoteStep implements Step {
  readonly #lifetime: Lifetime;
  readonly #ended: (step: RemoteStep) => void;

  constructor(
    readonly label: string,
    readonly id: number,
    /** Whose it is. */
    readonly owner: object,
    ended: (step: RemoteStep) => void,
  ) {
    this.#lifetime = new Lifetime(`step ${label}`);
    this.#ended = ended;
  }

  /** Throws `DISPOSED` after disposal. */
  check(): void {
    this.#lifetime.check();
  }

  [Symbol.dispose](): void {
    if (this.#lifetime.end()) this.#ended(this);
  }
}

/** What a stream is created from. */
export interface RemoteStreamSetup {
  readonly id: number;
  readonly label: string;
  readonly calls: RemoteCalls;
  /** Whose it is. */
  readonly owner: object;
  /** Whether rows of a part may be handed over in another format. */
  decodes(weight: RemoteWeight, part: number, format: TensorFormat): boolean;
  readonly ended: (stream: RemoteStream) => void;
}

/** A stream of another process: its work is sent in the order of the calls, and its results come back. */
export class RemoteStream implements Stream {
  readonly #setup: RemoteStreamSetup;
  readonly #lifetime: Lifetime;

  constructor(setup: RemoteStreamSetup) {
    this.#setup = setup;
    this.#lifetime = new Lifetime(`stream ${setup.label}`);
  }

  upload(source: Uint8Array, target: BufferRange): void {
    const { id } = this.#check('upload target', target, source.byteLength);
    for (let at = 0; at < source.byteLength; at += MOVED_AT_ONCE) {
      const data = source.subarray(at, at + MOVED_AT_ONCE);
      this.#order(FRAME.upload, [id, target.offset + at], data);
    }
  }

  copy(source: BufferRange, target: BufferRange): void {
    const from = this.#check('copy source', source, 0);
    const to = this.#check('copy target', target, 0);
    checkCopySizes(source, target, this.#setup.label);
    if (source.byteLength === 0) return;
    this.#order(FRAME.copy, [from.id, source.offset, to.id, target.offset, source.byteLength]);
  }

  async download(source: BufferRange, into: Uint8Array): Promise<void> {
    const { id } = this.#check('download source', source, into.byteLength);
    const reading: Promise<unknown>[] = [];
    for (let at = 0; at < into.byteLength; at += MOVED_AT_ONCE) {
      const part = into.subarray(at, at + MOVED_AT_ONCE);
      const operands = [this.#setup.id, id, source.offset + at, part.byteLength];
      reading.push(this.#setup.calls.request({ kind: FRAME.download, operands }, part));
    }
    await Promise.all(reading);
  }

  pack(weight: PackedWeight, rows: WeightRows, from: PinnedRows, target: BufferRange): void {
    const { label, decodes } = this.#setup;
    const own = this.#ownWeight(weight);
    checkRows({ graph: label, weight, decodes: (part, format) => decodes(own, part, format) }, rows, from);
    invariant(!from.cut, 'the rows of a remote device follow one another');
    const data = from.pinned.bytes.subarray(from.offset, from.offset + rowsBytes(weight, rows));
    this.#orderRows({ kind: FRAME.pack, data }, own, rows, target);
  }

  packOwn(weight: PackedWeight, rows: WeightRows, from: FileRows, target: BufferRange): void {
    const { tensor, ...place } = from;
    const text: SentRows = { tensor: tensor.name, ...place };
    this.#orderRows({ kind: FRAME.packOwn, text }, this.#ownWeight(weight), rows, target);
  }

  run(step: Step): void {
    this.#lifetime.check();
    const { label, owner } = this.#setup;
    if (!(step instanceof RemoteStep) || step.owner !== owner) {
      const [found, expected] = ['a step of another device', 'a step of this remote device'];
      return fail('BINDING', { graph: label, value: step.label, found, expected });
    }
    step.check();
    this.#order(FRAME.run, [step.id]);
  }

  record(): DeviceEvent {
    this.#lifetime.check();
    return this.#setup.calls.mark(this.#setup.id);
  }

  wait(event: DeviceEvent): void {
    this.#lifetime.check();
    if (!(event instanceof RemoteEvent) || event.owner !== this.#setup.calls) {
      const [found, expected] = ['an event of another device', 'an event of this remote device'];
      return fail('BINDING', { graph: this.#setup.label, value: 'event', found, expected });
    }
    this.#order(FRAME.wait, [event.id]);
  }

  async synchronize(): Promise<void> {
    await this.record().completed();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#lifetime.end()) return;
    const { calls, id, ended } = this.#setup;
    // A stream of a connection that has ended has nothing left to do.
    await calls.request({ kind: FRAME.endStream, operands: [id] }).catch(() => {});
    ended(this);
  }

  #order(kind: number, operands: readonly number[], data?: Uint8Array): void {
    this.#setup.calls.order({ kind, operands: [this.#setup.id, ...operands], data });
  }

  #ownWeight(weight: PackedWeight): RemoteWeight {
    const { label, owner } = this.#setup;
    if (weight instanceof RemoteWeight && weight.program.owner === owner) return weight;
    const found = 'a weight of another device';
    return fail('BINDING', { graph: label, value: 'pack', found, expected: "the remote device's own" });
  }

  #orderRows(frame: Frame, weight: RemoteWeight, rows: WeightRows, target: BufferRange): void {
    const { id } = this.#check('pack target', target, weight.byteLength);
    const { part, firstRow, rowCount, format = weight.parts[part]?.format } = rows;
    const of = [weight.program.id, weight.index, part, firstRow, rowCount, format?.ggmlType ?? -1];
    this.#setup.calls.order({ ...frame, operands: [this.#setup.id, id, target.offset, ...of] });
  }

  #check(value: string, range: BufferRange, byteLength: number): RemoteBuffer {
    this.#lifetime.check();
    const buffer = remoteBuffer(range, this.#setup.owner);
    checkRange(range, byteLength, { graph: this.#setup.label, value });
    return buffer;
  }
}
