import { invariant } from '../../base/errors.ts';
import { type Bindings, type BufferRange, bytesOf, type HostProgram } from '../../device/index.ts';
import {
  capacityOf,
  type OpGraph,
  type State,
  type Tensor,
  type Weight,
  weightRowBytes,
} from '../../ops/index.ts';
import { type Matrix, matrixOver, temporaryMatrix } from './matrix.ts';

/** The values of a graph during one run: bound memory, and temporaries in f64. */
export class Frame {
  readonly #graph: OpGraph;
  readonly #ranges = new Map<Tensor | State, BufferRange>();
  readonly #weights = new Map<Weight, BufferRange>();
  /** Room for a row of a weight. */
  #decoded = new Float32Array(0);
  readonly #matrices = new Map<Tensor | State, Matrix>();

  constructor(program: HostProgram, bindings: Bindings) {
    this.#graph = program.graph;
    for (const [value, range] of bindings.values) this.#ranges.set(value, range);
    for (const { name, tensor } of program.graph.outputs) {
      const range = bindings.outputs.get(name);
      if (range) this.#ranges.set(tensor, range);
    }
    for (const packed of program.weights) {
      const range = bindings.weights.get(packed);
      const [weight] = packed.parts;
      if (range && weight) this.#weights.set(weight, range);
    }
  }

  /** Rows of a tensor that this step uses. */
  rowsOf(tensor: Tensor): number {
    const { batch, shape } = this.#graph;
    const [rows, outputs] = this.matrix(batch.counts).read(0);
    if (tensor.axis === 'rows') return rows as number;
    return tensor.axis === 'outputs' ? (outputs as number) : capacityOf(tensor.axis, shape);
  }

  matrix(value: Tensor | State): Matrix {
    const known = this.#matrices.get(value);
    if (known) return known;
    const range = this.#ranges.get(value);
    const matrix = range ? this.#bound(value, range) : this.#temporary(value);
    this.#matrices.set(value, matrix);
    return matrix;
  }

  #bound(value: Tensor | State, range: BufferRange): Matrix {
    const { type, width } = value;
    const rows = value.kind === 'state' ? value.rows : capacityOf(value.axis, this.#graph.shape);
    return matrixOver(bytesOf(range), { type, rows, width });
  }

  /** Of the rows in use: batches have room for many more. */
  #temporary(value: Tensor | State): Matrix {
    invariant(value.kind === 'tensor', `the state ${value.name} is bound`);
    return temporaryMatrix(this.rowsOf(value), value.width);
  }

  /** A row of a weight, decoded by its format. */
  weightRow(weight: Weight, row: number): Float64Array {
    const range = this.#weights.get(weight);
    invariant(range, `the weight ${weight.name} is bound`);
    const { format, columns } = weight;
    if (this.#decoded.length < columns) this.#decoded = new Float32Array(columns);
    const decoded = this.#decoded.subarray(0, columns);
    format.decode(bytesOf(range), row * weightRowBytes(weight), decoded, 0, columns / format.blockElements);
    return new Float64Array(decoded);
  }

  /** All values of a weight with one row: a bias, or a norm's factors. */
  vector(weight: Weight): Float64Array {
    return this.weightRow(weight, 0);
  }
}
