import { Lifetime } from '../../base/disposal.ts';
import { invariant } from '../../base/errors.ts';
import { HostEvent } from './host-event.ts';
import type { BufferRange } from '../memory.ts';
import type { PackedWeight, Step } from '../program.ts';
import { checkCopySizes, checkRange } from '../range-check.ts';
import { checkRows } from '../rows-check.ts';
import type { DeviceEvent, PinnedRows, Stream, WeightRows } from '../stream.ts';

/** What the host does when a call reaches the front of the queue. Its arguments have been checked by then. */
export interface HostWork {
  upload(source: Uint8Array, target: BufferRange): void;
  copy(source: BufferRange, target: BufferRange): void;
  download(source: BufferRange, into: Uint8Array): void;
  pack(weight: PackedWeight, rows: WeightRows, from: PinnedRows, target: BufferRange): void;
  run(step: Step): void;
  /** Throws `DISPOSED` if the buffer, pinned buffer or step is disposed, `BINDING` if it belongs to another device. */
  owns(object: Disposable): void;
}

/**
 * A stream whose work the host does itself, call by call, in a microtask: in order, and never inside the call that
 * queued it. It pauses while it waits for another stream's event.
 */
export class HostStream implements Stream {
  readonly #label: string;
  readonly #work: HostWork;
  readonly #lifetime: Lifetime;
  readonly #ended: (stream: HostStream) => void;
  #queue: (() => HostEvent | undefined)[] = [];
  #next = 0;
  #draining = false;
  #error: unknown;

  constructor(label: string, work: HostWork, ended: (stream: HostStream) => void) {
    this.#label = label;
    this.#work = work;
    this.#ended = ended;
    this.#lifetime = new Lifetime(`stream ${label}`);
  }

  upload(source: Uint8Array, target: BufferRange): void {
    this.#check('upload target', target, source.byteLength);
    this.#push(() => this.#work.upload(source, target));
  }

  copy(source: BufferRange, target: BufferRange): void {
    this.#check('copy source', source, 0);
    this.#check('copy target', target, 0);
    checkCopySizes(source, target, this.#label);
    this.#push(() => this.#work.copy(source, target));
  }

  download(source: BufferRange, into: Uint8Array): Promise<void> {
    this.#check('download source', source, into.byteLength);
    this.#push(() => this.#work.download(source, into));
    return this.#record().completed();
  }

  pack(weight: PackedWeight, rows: WeightRows, from: PinnedRows, target: BufferRange): void {
    this.#check('pack target', target, weight.byteLength);
    this.#work.owns(from.pinned);
    checkRows({ graph: this.#label, weight }, rows, from);
    this.#push(() => this.#work.pack(weight, rows, from, target));
  }

  run(step: Step): void {
    this.#lifetime.check();
    this.#work.owns(step);
    this.#push(() => this.#work.run(step));
  }

  record(): DeviceEvent {
    this.#lifetime.check();
    return this.#record();
  }

  wait(event: DeviceEvent): void {
    this.#lifetime.check();
    invariant(event instanceof HostEvent, 'a host stream waits for events of host streams');
    this.#enqueue(() => event);
  }

  async synchronize(): Promise<void> {
    this.#lifetime.check();
    await this.#record().completed();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#lifetime.end()) return;
    const last = this.#record();
    await new Promise<void>((resolve) => last.whenFinished(resolve));
    this.#ended(this);
  }

  #check(value: string, range: BufferRange, byteLength: number): void {
    this.#lifetime.check();
    this.#work.owns(range.buffer);
    checkRange(range, byteLength, { graph: this.#label, value });
  }

  /** Queues work that is skipped if something failed before. */
  #push(work: () => void): void {
    this.#enqueue(() => {
      if (this.#error === undefined) work();
      return undefined;
    });
  }

  #record(): HostEvent {
    const event = new HostEvent();
    this.#enqueue(() => {
      event.finish(this.#error);
      return undefined;
    });
    return event;
  }

  #enqueue(entry: () => HostEvent | undefined): void {
    this.#queue.push(entry);
    if (this.#draining) return;
    this.#draining = true;
    queueMicrotask(() => this.#drain());
  }

  /** Works through the queue until it is empty or has to wait for another stream's event. */
  #drain(): void {
    while (this.#next < this.#queue.length) {
      const entry = this.#queue[this.#next++];
      const event = this.#attempt(entry);
      if (event && !event.finished) {
        event.whenFinished(() => {
          this.#error ??= event.error;
          queueMicrotask(() => this.#drain());
        });
        return;
      }
      if (event) this.#error ??= event.error;
    }
    this.#queue = [];
    this.#next = 0;
    this.#draining = false;
  }

  #attempt(entry: (() => HostEvent | undefined) | undefined): HostEvent | undefined {
    try {
      return entry?.();
    } catch (error) {
      this.#error ??= error;
      return undefined;
    }
  }
}
