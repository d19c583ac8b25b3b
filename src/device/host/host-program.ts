import type { OpGraph } from '../../ops/graph.ts';
import { type Weight, weightRowBytes } from '../../ops/value.ts';
import { boundBuffers, checkBindings } from '../binding-check.ts';
import type { Bindings, Executable, PackedWeight, Program } from '../program.ts';

/** An executable that the host runs by calling it. */
export interface HostExecutable extends Executable {
  run(): void;
}

/** What distinguishes the programs of host devices from each other. */
export interface HostProgramSetup {
  readonly scratchBytes: number;
  /** Returns the function that runs the graph on these bindings, which have been checked. */
  prepare(program: HostProgram, bindings: Bindings): () => void;
  /** Throws for a buffer that is disposed or belongs to another device. */
  owns(buffer: Disposable): void;
}

/** A program of a host device, with its weights stored as the file's rows. */
export class HostProgram implements Program {
  readonly weights: readonly PackedWeight[];
  readonly scratchBytes: number;
  readonly #setup: HostProgramSetup;

  constructor(
    readonly graph: OpGraph,
    setup: HostProgramSetup,
  ) {
    this.#setup = setup;
    this.scratchBytes = setup.scratchBytes;
    this.weights = graph.weights.map(fileRowsOf);
  }

  bind(bindings: Bindings): HostExecutable {
    checkBindings(this, bindings);
    const buffers = boundBuffers(bindings);
    for (const buffer of buffers) this.#setup.owns(buffer);
    return { program: this, buffers, run: this.#setup.prepare(this, bindings) };
  }
}

/** A single weight, stored as the file's rows. */
function fileRowsOf(weight: Weight): PackedWeight {
  return {
    parts: [weight],
    byteLength: weight.rows * weightRowBytes(weight),
    layout: 'file',
    rowAlignment: 1,
  };
}
