import { fail } from '../../../base/errors.ts';
import {
  type Axis,
  type BatchShape,
  capacityOf,
  ELEMENT_BYTES,
  type OpGraph,
  type State,
  type Tensor,
  stateBytes,
  tensorBytes,
} from '../../../ops/index.ts';
import { recordBytes, TILE_ROWS } from '../weight-layouts.ts';
import type { CpuPackedWeight } from './packed-weight.ts';

/** The origin of an operand's memory when a program is bound. */
export type OperandOrigin =
  | { readonly kind: 'value'; readonly value: Tensor | State }
  | { readonly kind: 'output'; readonly output: string }
  | { readonly kind: 'weight'; readonly weight: CpuPackedWeight }
  | { readonly kind: 'scratch' };

/** Rows of an axis, of which only those in use are accessed, `rowUnit` of them together. */
export interface OperandRows {
  readonly axis: Axis;
  readonly rowBytes: number;
  readonly rowUnit: number;
}

/** Memory that calls refer to by number until the program is bound. */
export interface Operand {
  readonly id: number;
  readonly name: string;
  readonly byteLength: number;
  /** How the bytes divide into rows; undefined for memory that is used as a whole. */
  readonly rows: OperandRows | undefined;
  readonly origin: OperandOrigin;
}

/** All memory that one program's calls refer to. */
export class OperandTable {
  readonly #operands: Operand[] = [];
  readonly #byTensor = new Map<Tensor | State, Operand>();
  readonly #outputNames: ReadonlyMap<Tensor, string>;
  readonly #shape: BatchShape;

  constructor(graph: OpGraph) {
    this.#shape = graph.shape;
    this.#outputNames = new Map(graph.outputs.map(({ name, tensor }) => [tensor, name]));
    if (this.#outputNames.size < graph.outputs.length) {
      fail('OP_UNSUPPORTED', {
        device: 'cpu',
        op: 'output',
        why: `${graph.name} gives one result two names`,
      });
    }
  }

  get all(): readonly Operand[] {
    return this.#operands;
  }

  tensor(tensor: Tensor): Operand {
    const known = this.#byTensor.get(tensor);
    if (known) return known;
    const output = this.#outputNames.get(tensor);
    const operand = this.#add({
      name: tensor.name,
      byteLength: tensorBytes(tensor, this.#shape),
      rows: { axis: tensor.axis, rowBytes: tensor.width * ELEMENT_BYTES[tensor.type], rowUnit: 1 },
      origin:
        output !== undefined
          ? { kind: 'output', output }
          : tensor.role === 'input'
            ? { kind: 'value', value: tensor }
            : { kind: 'scratch' },
    });
    this.#byTensor.set(tensor, operand);
    return operand;
  }

  state(state: State): Operand {
    const known = this.#byTensor.get(state);
    if (known) return known;
    const operand = this.#add({
      name: state.name,
      byteLength: stateBytes(state),
      rows: undefined,
      origin: { kind: 'value', value: state },
    });
    this.#byTensor.set(state, operand);
    return operand;
  }

  weight(weight: CpuPackedWeight): Operand {
    const known = this.#operands.find(({ origin }) => origin.kind === 'weight' && origin.weight === weight);
    if (known) return known;
    const name = weight.parts.map((part) => part.name).join('+');
    return this.#add({
      name,
      byteLength: weight.byteLength,
      rows: undefined,
      origin: { kind: 'weight', weight },
    });
  }

  /** The 8-bit form of a tensor, in scratch: records of its elements. */
  quantized(tensor: Tensor): Tensor {
    const records: Tensor = { ...tensor, role: 'temp', name: `${tensor.name} in 8 bits` };
    const { name, axis, width } = records;
    const capacity = capacityOf(axis, this.#shape);
    const byteLength = recordBytes(capacity, width);
    // A single row does not form a tile.
    const rows = { axis, rowBytes: recordBytes(1, width), rowUnit: capacity === 1 ? 1 : TILE_ROWS };
    this.#byTensor.set(records, this.#add({ name, byteLength, rows, origin: { kind: 'scratch' } }));
    return records;
  }

  #add(operand: Omit<Operand, 'id'>): Operand {
    const added = { id: this.#operands.length, ...operand };
    this.#operands.push(added);
    return added;
  }
}
