import { Lifetime } from '../../base/disposal.ts';
import { fail } from '../../base/errors.ts';
import {
  type BufferRange,
  checkRange,
  type DeviceBuffer,
  type DeviceEvent,
  type PackedWeight,
  type PinnedRows,
  QueuedEvent,
  type Step,
  type Stream,
  type WeightRows,
  WorkQueue,
  type RowStaging,
} from '../../device/index.ts';
import type { MultiDeviceStep } from './multi-device-step.ts';

/** A step that throws `DISPOSED` after disposal, before it runs on any of the devices. */
type CheckedStep = Step & Pick<MultiDeviceStep<never>, 'check'>;

/** What several devices are as one, in messages. */
export type MultiDeviceKind = 'group' | 'pipeline';

/** What a stream of several devices is created from. */
export interface MultiDeviceStreamSetup {
  readonly label: string;
  /** By rank or by stage. */
  readonly streams: readonly Stream[];
  /** Of each device, for rows that are copied to it first; undefined for one that packs them from where they are. */
  readonly staging: readonly (RowStaging | undefined)[];
  readonly ended: (stream: Stream) => void;
}

/**
 * A stream of each of several devices, as one. Work is handed on to them in the order of the calls; what needs the host in the middle
 * holds back what is behind it.
 */
export abstract class MultiDeviceStream<
  Buffer extends DeviceBuffer,
  Recorded extends CheckedStep,
> implements Stream {
  protected readonly label: string;
  protected readonly streams: readonly Stream[];
  protected readonly staging: readonly (RowStaging | undefined)[];
  protected readonly queue = new WorkQueue();
  readonly #kind: MultiDeviceKind;
  readonly #lifetime: Lifetime;
  readonly #ended: (stream: Stream) => void;

  constructor(kind: MultiDeviceKind, { label, streams, staging, ended }: MultiDeviceStreamSetup) {
    this.#kind = kind;
    this.label = label;
    this.streams = streams;
    this.staging = staging;
    this.#ended = ended;
    this.#lifetime = new Lifetime(`stream ${label}`);
  }

  abstract upload(source: Uint8Array, target: BufferRange): void;
  abstract copy(source: BufferRange, target: BufferRange): void;
  abstract download(source: BufferRange, into: Uint8Array): Promise<void>;
  abstract pack(weight: PackedWeight, rows: WeightRows, from: PinnedRows, target: BufferRange): void;

  run(step: Step): void {
    this.#lifetime.check();
    const own = this.ownStep(step);
    if (!own) {
      const [found, expected] = ['a step of another device', `a step of this ${this.#kind}`];
      return fail('BINDING', { graph: this.label, value: step.label, found, expected });
    }
    own.check();
    this.queue.push(() => this.runOwn(own));
  }

  record(): DeviceEvent {
    this.#lifetime.check();
    return this.#record();
  }

  wait(event: DeviceEvent): void {
    this.#lifetime.check();
    if (!(event instanceof QueuedEvent)) {
      const [found, expected] = ['an event of another device', `an event of this ${this.#kind}`];
      return fail('BINDING', { graph: this.label, value: 'event', found, expected });
    }
    this.queue.push(async () => {
      const events = await event.reached;
      this.each((stream, index) => stream.wait(events[index] as DeviceEvent));
    });
  }

  async synchronize(): Promise<void> {
    this.#lifetime.check();
    await this.#record().completed();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#lifetime.end()) return;
    await this.#record()
      .completed()
      .catch(() => {});
    await Promise.all(this.streams.map((stream) => stream[Symbol.asyncDispose]()));
    for (const staging of this.staging) staging?.[Symbol.dispose]();
    this.#ended(this);
  }

  /** The buffer of a range. Throws `BINDING` for another device's, `DISPOSED` after its disposal. */
  protected abstract ownBuffer(range: BufferRange, use: string): Buffer;

  /** Undefined for a step of another device. */
  protected abstract ownStep(step: Step): Recorded | undefined;

  protected abstract runOwn(step: Recorded): void | Promise<void>;

  /** The buffer of a range that has so many bytes. Throws `BINDING`, and `DISPOSED` for one of the two that is. */
  protected check(value: string, range: BufferRange, byteLength: number): Buffer {
    this.#lifetime.check();
    const buffer = this.ownBuffer(range, value);
    checkRange(range, byteLength, { graph: this.label, value });
    return buffer;
  }

  protected each(work: (stream: Stream, index: number) => void): void {
    for (const [index, stream] of this.streams.entries()) work(stream, index);
  }

  #record(): QueuedEvent {
    const event = new QueuedEvent();
    this.queue.reach(event, () => this.streams.map((stream) => stream.record()));
    return event;
  }
}
