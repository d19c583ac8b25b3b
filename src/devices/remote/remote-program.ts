import {
  type Bindings,
  bound,
  boundBuffers,
  type BufferRange,
  checkBindings,
  type Executable,
  type PackedWeight,
  type Program,
} from '../../device/index.ts';
import { formatOf, type TensorFormat } from '../../formats/index.ts';
import type { OpGraph, Weight } from '../../ops/index.ts';
import { type SentWeight, unpackWeight } from './graph-text.ts';
import { remoteBuffer } from './remote-memory.ts';

/** A program as the process that compiled it describes it. */
export interface SentProgram {
  readonly scratchBytes: number;
  readonly weights: readonly SentPackedWeight[];
}

/** A packed weight as it is described. */
export interface SentPackedWeight {
  readonly parts: readonly SentWeight[];
  readonly byteLength: number;
  readonly dequantizedBytes: number;
  readonly layout: string;
  readonly rowAlignment: number;
  readonly isCopied: boolean;
  /** The ids of the formats in which rows wait to be packed. */
  readonly waits: readonly number[];
}

/** A range as it crosses: buffer, offset, bytes. */
export type SentRange = readonly [buffer: number, offset: number, byteLength: number];

/** An executable as it crosses: ranges in the order of the program's graph. */
export interface SentExecutable {
  readonly program: number;
  /** Of the inputs, then of the states. */
  readonly values: readonly SentRange[];
  readonly outputs: readonly SentRange[];
  readonly weights: readonly SentRange[];
  readonly scratch: SentRange | undefined;
}

/** A weight in the layout of a remote program. */
export class RemoteWeight implements PackedWeight {
  readonly parts: readonly Weight[];
  readonly byteLength: number;
  readonly dequantizedBytes: number;
  readonly layout: string;
  readonly rowAlignment: number;
  readonly isCopied: boolean;
  readonly #waits: ReadonlySet<TensorFormat | undefined>;

  constructor(
    /** Which keeps the program on the other side. */
    readonly program: RemoteProgram,
    /** Its place among the program's weights. */
    readonly index: number,
    sent: SentPackedWeight,
  ) {
    const known = new Map(program.graph.weights.map((weight) => [weight.id, weight]));
    this.parts = sent.parts.map((part) => same(known.get(part.id), unpackWeight(part)));
    this.byteLength = sent.byteLength;
    this.dequantizedBytes = sent.dequantizedBytes;
    this.layout = sent.layout;
    this.rowAlignment = sent.rowAlignment;
    this.isCopied = sent.isCopied;
    this.#waits = new Set(sent.waits.map(formatOf));
  }

  waits(format: TensorFormat): boolean {
    return this.#waits.has(format);
  }

  hasOwn(tensor: object): boolean {
    return this.program.owner.hasTensor(tensor);
  }
}

/** The device whose programs and weights these are. */
export interface ProgramOwner {
  /** Whether its process has a tensor of a model's file in a copy of its own. */
  hasTensor(tensor: object): boolean;
}

/** The graph's own weight if that is what was described. */
function same(own: Weight | undefined, described: Weight): Weight {
  const isSame =
    own?.name === described.name && own.rows === described.rows && own.columns === described.columns;
  return isSame && !own.shard && own.format === described.format ? own : described;
}

/** A remote program that is bound to memory; what is wrong with that is known when it is recorded. */
export interface RemoteExecutable extends Executable {
  readonly program: RemoteProgram;
  readonly sent: SentExecutable;
}

/** A graph that another process has compiled. */
export class RemoteProgram implements Program {
  readonly weights: readonly RemoteWeight[];
  readonly scratchBytes: number;

  constructor(
    readonly graph: OpGraph,
    /** The number by which both sides name it. */
    readonly id: number,
    sent: SentProgram,
    /** Whose it is. */
    readonly owner: ProgramOwner,
  ) {
    this.scratchBytes = sent.scratchBytes;
    this.weights = sent.weights.map((weight, index) => new RemoteWeight(this, index, weight));
  }

  bind(bindings: Bindings): RemoteExecutable {
    checkBindings(this, bindings);
    const { graph, owner } = this;
    const send = (range: BufferRange | undefined): SentRange => {
      const { buffer, offset, byteLength } = bound(range);
      return [remoteBuffer({ buffer }, owner).id, offset, byteLength];
    };
    const sent: SentExecutable = {
      program: this.id,
      values: [...graph.inputs, ...graph.states].map((value) => send(bindings.values.get(value))),
      outputs: graph.outputs.map(({ name }) => send(bindings.outputs.get(name))),
      weights: this.weights.map((weight) => send(bindings.weights.get(weight))),
      scratch: bindings.scratch && send(bindings.scratch),
    };
    return { program: this, buffers: boundBuffers(bindings), sent };
  }
}
