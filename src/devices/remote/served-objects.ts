import { fail } from '../../base/errors.ts';
import type { Device, DeviceBuffer, PackedWeight, Program, QueuedEvent, Step } from '../../device/index.ts';
import { ALL_FORMATS, formatOf, type TensorFormat } from '../../formats/index.ts';
import { packWeight } from './graph-text.ts';
import type { SentExecutable, SentProgram, SentRange } from './remote-program.ts';
import type { ServedStream } from './served-stream.ts';

/** Something that was asked for and could not be made: whatever needs it fails with the same error. */
class Failed {
  constructor(readonly error: unknown) {}
}

/** Things by the numbers that the other side gave them. */
export class NamedObjects<T> {
  readonly #what: string;
  readonly #objects = new Map<number, T | Failed>();

  /** `what` names a thing in messages. */
  constructor(what: string) {
    this.#what = what;
  }

  /** Makes something. What fails is remembered: an order has no answer. Throws for a number that is taken. */
  make(id: number, create: () => T): void {
    if (this.#objects.has(id)) throw new RangeError(`${this.#what} ${id} is there already`);
    try {
      this.#objects.set(id, create());
    } catch (error) {
      this.#objects.set(id, new Failed(error));
    }
  }

  /** Throws the error with which it was not made, or for a number without anything. */
  get(id: number): T {
    const found = this.#objects.get(id);
    if (found instanceof Failed) throw found.error;
    if (found === undefined) throw new RangeError(`there is no ${this.#what} ${id}`);
    return found;
  }

  /** Forgets it; undefined if it was not made. */
  take(id: number): T | undefined {
    const found = this.#objects.get(id);
    this.#objects.delete(id);
    return found instanceof Failed ? undefined : found;
  }

  /** Forgets all. */
  takeAll(): T[] {
    const all = [...this.#objects.values()].flatMap((found) => (found instanceof Failed ? [] : [found as T]));
    this.#objects.clear();
    return all;
  }
}

/** Everything that one connection has on a device. */
export class ServedObjects {
  readonly buffers = new NamedObjects<DeviceBuffer>('buffer');
  readonly streams = new NamedObjects<ServedStream>('stream');
  readonly programs = new NamedObjects<Program>('program');
  readonly steps = new NamedObjects<Step>('step');
  /** Events that have not been reached, or that failed. */
  readonly events = new Map<number, QueuedEvent>();

  /** Part of a weight of a program. */
  weight(program: number, index: number): PackedWeight {
    const weight = this.programs.get(program).weights[index];
    if (!weight) throw new RangeError(`program ${program} has no weight ${index}`);
    return weight;
  }

  /** Records executables as they were sent. Rejects as `Device.record` and `Program.bind`. */
  record(device: Device, executables: readonly SentExecutable[], label: string): Promise<Step> {
    return device.record(
      executables.map((sent) => this.#bind(sent)),
      label,
    );
  }

  /** Ends everything: streams first, which may still use the rest. Rejects with the first error of an end, when all have ended. */
  async end(): Promise<void> {
    const streams = this.streams.takeAll();
    const failed: unknown[] = [];
    const ended = await Promise.allSettled(streams.map((stream) => stream[Symbol.asyncDispose]()));
    for (const one of ended) if (one.status === 'rejected') failed.push(one.reason);
    for (const one of [...this.steps.takeAll(), ...this.buffers.takeAll()]) {
      try {
        one[Symbol.dispose]();
      } catch (error) {
        failed.push(error);
      }
    }
    this.programs.takeAll();
    this.events.clear();
    if (failed.length > 0) throw failed[0];
  }

  #bind(sent: SentExecutable) {
    const program = this.programs.get(sent.program);
    const { graph, weights } = program;
    const ranges = <T>(values: readonly T[], of: readonly SentRange[]) => {
      if (values.length !== of.length)
        fail('BINDING', {
          graph: graph.name,
          value: 'ranges',
          found: `${of.length}`,
          expected: `${values.length}`,
        });
      return values.map((value, index) => [value, this.#range(of[index] as SentRange)] as const);
    };
    return program.bind({
      values: new Map(ranges([...graph.inputs, ...graph.states], sent.values)),
      outputs: new Map(ranges(graph.outputs, sent.outputs).map(([{ name }, range]) => [name, range])),
      weights: new Map(ranges(weights, sent.weights)),
      scratch: sent.scratch && this.#range(sent.scratch),
    });
  }

  #range([buffer, offset, byteLength]: SentRange) {
    return { buffer: this.buffers.get(buffer), offset, byteLength };
  }
}

/** Describes a program to the side that has its graph. */
export function describeProgram({ scratchBytes, weights }: Program): SentProgram {
  return {
    scratchBytes,
    weights: weights.map((weight) => ({
      parts: weight.parts.map(packWeight),
      byteLength: weight.byteLength,
      layout: weight.layout,
      rowAlignment: weight.rowAlignment,
      dequantizedBytes: weight.dequantizedBytes ?? 0,
      isCopied: weight.isCopied ?? false,
      waits: ALL_FORMATS.filter((format) => weight.waits?.(format)).map(({ ggmlType }) => ggmlType),
    })),
  };
}

/** Throws for the id of no format. */
export function formatWith(id: number): TensorFormat {
  const format = formatOf(id);
  if (!format) throw new RangeError(`there is no format ${id}`);
  return format;
}
