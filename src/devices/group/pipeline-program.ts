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
import type { TensorFormat } from '../../formats/index.ts';
import {
  capacityOf,
  type OpGraph,
  type State,
  type Tensor,
  tensorBytes,
  type Weight,
} from '../../ops/index.ts';
import { onStage, type PipelineBuffer, pipelineBuffer } from './pipeline-memory.ts';

/** A weight as the program of a stage needs it. */
export class StageWeight implements PackedWeight {
  readonly parts: readonly Weight[];
  readonly byteLength: number;
  readonly dequantizedBytes: number;
  readonly layout: string;
  readonly rowAlignment: number;
  readonly isCopied: boolean;

  constructor(
    readonly stage: number,
    /** The stage's own. */
    readonly packed: PackedWeight,
  ) {
    this.parts = packed.parts;
    this.byteLength = packed.byteLength;
    this.dequantizedBytes = packed.dequantizedBytes ?? 0;
    this.layout = packed.layout;
    this.rowAlignment = packed.rowAlignment;
    this.isCopied = packed.isCopied ?? false;
  }

  waits(format: TensorFormat): boolean {
    return this.packed.waits?.(format) ?? false;
  }

  hasOwn(tensor: object): boolean {
    return this.packed.hasOwn?.(tensor) ?? false;
  }
}

/** What a stage reads and another one may have written: a range of which the rows in use pass. */
export interface StageRead {
  readonly range: BufferRange;
  /** Undefined for what has no rows, all of which passes. */
  readonly rows?: { readonly axis: 'rows' | 'outputs'; readonly bytes: number } | undefined;
  /** Where the numbers of rows in use are. */
  readonly counts: BufferRange;
}

/** A program of a stage, bound to addresses. */
export interface PipelineExecutable extends Executable {
  readonly stage: number;
  readonly own: Executable;
  /** What it reads that another stage may have written. */
  readonly reads: readonly StageRead[];
  /** What it writes that another stage may read. */
  readonly writes: readonly PipelineBuffer[];
}

/** A graph compiled for the stage that runs it. */
export class PipelineProgram implements Program {
  readonly graph: OpGraph;
  readonly weights: readonly StageWeight[];
  readonly scratchBytes: number;
  readonly #stage: number;
  readonly #own: Program;

  constructor(graph: OpGraph, stage: number, own: Program) {
    this.graph = graph;
    this.weights = own.weights.map((packed) => new StageWeight(stage, packed));
    this.scratchBytes = own.scratchBytes;
    this.#stage = stage;
    this.#own = own;
  }

  bind(bindings: Bindings): PipelineExecutable {
    checkBindings(this, bindings);
    const { graph } = this;
    const stage = this.#stage;
    const values = new Map<Tensor | State, BufferRange>();
    for (const value of [...graph.inputs, ...graph.states]) {
      values.set(value, onStage(bound(bindings.values.get(value)), stage));
    }
    const outputs = new Map([...bindings.outputs].map(([name, range]) => [name, onStage(range, stage)]));
    const weights = new Map(
      this.weights.map((weight) => [weight.packed, onStage(bound(bindings.weights.get(weight)), stage)]),
    );
    const scratch = bindings.scratch && onStage(bindings.scratch, stage);
    const counts = bound(bindings.values.get(graph.batch.counts));
    pipelineBuffer(counts, 'counts').keepCounts(counts.offset);
    const reads = graph.inputs.map((input): StageRead => {
      const { buffer, offset } = bound(bindings.values.get(input));
      const byteLength = tensorBytes(input, graph.shape);
      const rows = rowsOf(input, byteLength / capacityOf(input.axis, graph.shape));
      return { range: { buffer, offset, byteLength }, rows, counts };
    });
    const written = [...bindings.outputs.values()].map((range) => pipelineBuffer(range, 'output'));
    return {
      program: this,
      buffers: boundBuffers(bindings),
      stage,
      own: this.#own.bind({ values, outputs, weights, scratch }),
      reads: reads.filter(({ range }) => crosses(pipelineBuffer(range, 'input'))),
      writes: written.filter(crosses),
    };
  }
}

function rowsOf({ axis }: Tensor, bytes: number): StageRead['rows'] {
  return axis === 'rows' || axis === 'outputs' ? { axis, bytes } : undefined;
}

/** Whether its contents pass from stage to stage. */
function crosses({ passage }: PipelineBuffer): boolean {
  return passage !== undefined;
}
