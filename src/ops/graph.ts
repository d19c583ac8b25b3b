import { fail } from '../base/errors.ts';
import type { TensorFormat } from '../formats/tensor-format.ts';
import type { Op } from './op.ts';
import type { Recorder } from './recorder.ts';
import { isBlockType, STATE_BLOCK } from './state-blocks.ts';
import type {
  Axis,
  BatchShape,
  BatchTensors,
  ElementType,
  State,
  StateType,
  Tensor,
  Weight,
} from './value.ts';

/** A result of the graph, with the name by which it is bound. */
export interface Output {
  readonly name: string;
  readonly tensor: Tensor;
  /** `any` where rows behind those in use may be written, as in scratch. */
  readonly unusedRows?: 'any';
}

/**
 * A recorded sequence of operators without control flow: each reads inputs, weights, states and results of earlier
 * ones. It names no device and holds no data. `inputs` (including the batch's index tensors), `outputs`, `weights` and
 * `states` are bound to external memory; all other tensors are scratch.
 */
export interface OpGraph {
  readonly name: string;
  readonly shape: BatchShape;
  readonly batch: BatchTensors;
  readonly inputs: readonly Tensor[];
  readonly outputs: readonly Output[];
  readonly weights: readonly Weight[];
  readonly states: readonly State[];
  readonly ops: readonly Op[];
  /** Which of how many ranks computes it, if it is one rank's part of a group's graph. */
  readonly rank?: { readonly index: number; readonly count: number };
  /** The graphs of all ranks of a group, this one first, which is as large as any of them: what a `DeviceGroup` compiles. */
  readonly ranks?: readonly OpGraph[];
  /** Which of a pipeline's stages runs it. */
  readonly stage?: number;
  /**
   * Whether quantized weights may have dequantized copies beside them, for products of many rows. All graphs of a model say the same, as
   * they share its weights.
   */
  readonly dequantized?: true;
}

/** Records operators for one batch shape. The functions that record an operator are in the operator's own file. */
export class GraphBuilder implements Recorder<Op> {
  readonly batch: BatchTensors;
  readonly #inputs: Tensor[] = [];
  readonly #outputs: Output[] = [];
  readonly #weights = new Map<string, Weight>();
  readonly #states = new Map<string, State>();
  readonly #ops: Op[] = [];
  #nextId = 0;

  constructor(
    readonly name: string,
    readonly shape: BatchShape,
    readonly options: Pick<OpGraph, 'dequantized'> = {},
  ) {
    const index = (tensorName: string, axis: Axis, width = 1) =>
      this.input(tensorName, { axis, width, type: 'i32' });
    this.batch = {
      counts: index('counts', 'one', 2),
      ids: index('ids', 'rows'),
      positions: index('positions', 'rows'),
      slots: index('slots', 'rows'),
      slotRows: index('slot_rows', 'slots', 2),
      outputRows: index('output_rows', 'outputs'),
      blocks: index('blocks', 'slots', shape.blocksPerSlot),
    };
  }

  /** Declares a tensor that is bound to external memory. */
  input(name: string, of: { axis: Axis; width: number; type?: ElementType }): Tensor {
    const tensor = this.#tensor(name, 'input', { type: 'f32', ...of });
    this.#inputs.push(tensor);
    return tensor;
  }

  /** A new result for an operator to write. */
  temp(op: string, of: { axis: Axis; width: number; type?: ElementType }): Tensor {
    return this.#tensor(`${op}.${this.#ops.length}`, 'temp', { type: 'f32', ...of });
  }

  /** The weight of this name; the same name always gives the same value. */
  weight(name: string, format: TensorFormat, rows: number, columns: number): Weight {
    const known = this.#weights.get(name);
    if (known) return known;
    const weight: Weight = { kind: 'weight', id: this.#nextId++, name, format, rows, columns };
    this.#weights.set(name, weight);
    return weight;
  }

  /**
   * The state of this name; the same name always gives the same value. Throws `GRAPH_SHAPE` for a width that is not
   * whole blocks.
   */
  state(name: string, type: StateType, rows: number, width: number): State {
    const known = this.#states.get(name);
    if (known) return known;
    this.require(
      !isBlockType(type) || width % STATE_BLOCK === 0,
      `${name} is whole blocks of ${STATE_BLOCK} wide`,
    );
    const state: State = { kind: 'state', id: this.#nextId++, name, type, rows, width };
    this.#states.set(name, state);
    return state;
  }

  /** Marks a result as bound to external memory, whose rows behind those in use stay as they are unless it says `any`. */
  output(name: string, tensor: Tensor, unusedRows?: Output['unusedRows']): void {
    this.require(tensor.role === 'temp', `output ${name} is computed by an operator, not an input`);
    this.#outputs.push({ name, tensor, ...(unusedRows && { unusedRows }) });
  }

  /** Appends an operator; called by the operators' own recording functions. */
  push(op: Op): void {
    this.#ops.push(op);
  }

  /** Throws `GRAPH_SHAPE` unless the operands match. */
  require(fits: boolean, expected: string): void {
    if (!fits) fail('GRAPH_SHAPE', { graph: this.name, op: this.#ops.length, expected });
  }

  finish(): OpGraph {
    return {
      name: this.name,
      shape: this.shape,
      batch: this.batch,
      inputs: this.#inputs,
      outputs: this.#outputs,
      weights: [...this.#weights.values()],
      states: [...this.#states.values()],
      ops: this.#ops,
      ...this.options,
    };
  }

  #tensor(name: string, role: Tensor['role'], of: { type: ElementType; axis: Axis; width: number }): Tensor {
    this.require(Number.isSafeInteger(of.width) && of.width > 0, `${name} has a positive width`);
    return { kind: 'tensor', id: this.#nextId++, name, role, ...of };
  }
}
