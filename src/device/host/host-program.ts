import type { OpGraph } from '../../ops/graph.ts';
import { type Weight, weightRowBytes } from '../../ops/value.ts';
import { boundBuffers, checkBindings } from '../binding-check.ts';
import type { Bindings, Executable, PackedWeight, Program } from '../program.ts';

/** An executable that the host runs by calling it. */
export interface HostExecutable extends Executable {
  run(): void;
}

/** What distinguishes one host device's programs from another's. */
export interface HostProgramSetup {
  readonly scratchBytes: number;
  /** Gives the function that runs the graph on these bindings, which have been checked. */
  prepare(program: HostProgram, bindings: Bindings): () => void;
  /** Throws for a buffer that is disposed or another device's. */
  owns(buffer: Disposable): void;
}

/** A program of a host device, its weights kept as the file's rows. */
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

/** A weight by itself, row after row as in the file. */
function fileRowsOf(weight: Weight): PackedWeight {
  return {
    parts: [weight],
    byteLength: weight.rows * weightRowBytes(weight),
    layout: 'file',
    rowAlignment: 1,
  };
}
