import type { OpGraph, State, Tensor, Weight } from '../../../ops/index.ts';
import type { LoweredCall } from './lowered-call.ts';
import { CpuPackedWeight, type WeightUse } from './packed-weight.ts';
import { type Operand, OperandTable } from './operands.ts';

/** A call as a lowering states it: what it has none of may be left out. */
type CallParts = Pick<LoweredCall, 'table' | 'axis' | 'locality'> & Partial<LoweredCall>;

/** Bytes that an element-wise call moves for a column, with a bit of arithmetic counted in. */
const ELEMENT_BYTES = 64;

/** Collects the calls of a graph's operators, with the memory and the packed weights that they name. */
export class Lowering {
  readonly operands: OperandTable;
  readonly calls: LoweredCall[] = [];
  readonly #weights = new Map<string, CpuPackedWeight>();
  readonly #quantized = new Map<string, Operand>();

  constructor(readonly graph: OpGraph) {
    this.operands = new OperandTable(graph);
  }

  get weights(): readonly CpuPackedWeight[] {
    return [...this.#weights.values()];
  }

  tensor(tensor: Tensor): Operand {
    return this.operands.tensor(tensor);
  }

  state(state: State): Operand {
    return this.operands.state(state);
  }

  /** The weight packed for a use; the same use twice gives the same operand. */
  weight(weight: Weight, use: WeightUse): Operand {
    const key = `${use} ${weight.id}`;
    const known = this.#weights.get(key);
    const packed = known ?? CpuPackedWeight.of(weight, use);
    if (!known) this.#weights.set(key, packed);
    return this.operands.weight(packed);
  }

  /** The tensor's quantized form with a scale for `span` groups, made by `quantize` at the first call. */
  quantized(tensor: Tensor, span: number, quantize: () => Operand): Operand {
    const key = `${tensor.id} ${span}`;
    const known = this.#quantized.get(key);
    if (known) return known;
    const operand = quantize();
    this.#quantized.set(key, operand);
    return operand;
  }

  emit(call: CallParts): void {
    this.calls.push({
      local: [],
      reads: [],
      writes: [],
      scatters: [],
      columnUnit: 1,
      columnBytes: ELEMENT_BYTES,
      rowsTogether: false,
      ...call,
    });
  }
}
