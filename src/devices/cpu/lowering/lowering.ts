import type { OpGraph, State, Tensor, Value, Weight } from '../../../ops/index.ts';
import { type CpuOp, placeValues } from '../protocol/call-table.ts';
import type { LayoutTable } from '../weight-layouts.ts';
import type { LoweredCall } from './lowered-call.ts';
import { CpuPackedWeight, type WeightUse } from './packed-weight.ts';
import { type Operand, OperandTable } from './operands.ts';

/** Choices for a call; omitted ones have defaults. */
interface CallChoices
  extends
    Pick<LoweredCall, 'locality'>,
    Partial<Pick<LoweredCall, 'columns' | 'columnUnit' | 'columnBytes' | 'rowsTogether'>> {
  /** Tensors read at the call's own elements or rows only. All other operands are read anywhere. */
  readonly local?: readonly Tensor[];
  /** The tensors that the call computes. Default: its `out`. */
  readonly writes?: readonly Tensor[];
  /** States written at data-dependent positions. */
  readonly scatters?: readonly State[];
  /** The use that its weights are packed for. Default: vectors. */
  readonly weights?: WeightUse;
  /** The weights that are vectors beside a matrix. */
  readonly vectors?: readonly Weight[];
  /** Where parts of a row have matrices of their own: columns of a part, and the tensor with the choices of matrices, if they are chosen. */
  readonly matrices?: { readonly columns: number; readonly chosen: Tensor | undefined };
}

/** Bytes that an elementwise call moves per column, with an allowance for arithmetic. */
const ELEMENT_BYTES = 64;

/** Collects the calls of a graph's operators, with the memory and the packed weights that they use. */
export class Lowering {
  readonly operands: OperandTable;
  readonly calls: LoweredCall[] = [];
  readonly #weights = new Map<string, CpuPackedWeight>();
  readonly #quantized = new Map<string, Tensor>();

  constructor(
    readonly graph: OpGraph,
    /** Those of its matrices. */
    readonly layouts: LayoutTable,
  ) {
    this.operands = new OperandTable(graph);
  }

  get weights(): readonly CpuPackedWeight[] {
    return [...this.#weights.values()];
  }

  /** The weight packed for a use; repeated calls return the same object. */
  packed(weight: Weight, use: WeightUse): CpuPackedWeight {
    const key = `${use} ${weight.id}`;
    const packed = this.#weights.get(key) ?? CpuPackedWeight.of(weight, use, this.layouts);
    this.#weights.set(key, packed);
    return packed;
  }

  /** The tensor's quantized form, with one scale per `span` groups, created by `quantize` at the first call. */
  quantized(tensor: Tensor, span: number, quantize: () => Tensor): Tensor {
    const key = `${tensor.id} ${span}`;
    const records = this.#quantized.get(key) ?? quantize();
    this.#quantized.set(key, records);
    return records;
  }

  /** Adds a call for an operator. */
  emit(op: CpuOp, choices: CallChoices): void {
    const { weights = 'vector', vectors = [], locality, ...of } = choices;
    const operandOf = (value: Value): Operand => {
      if (value.kind === 'tensor') return this.operands.tensor(value);
      if (value.kind === 'state') return this.operands.state(value);
      return this.operands.weight(this.packed(value, vectors.includes(value) ? 'vector' : weights));
    };
    const named = new Set<Operand>();
    const table = placeValues(op, (value) => {
      const operand = operandOf(value);
      named.add(operand);
      return operand.id;
    });
    const computed = of.writes ?? ('out' in op ? [op.out] : []);
    const local = (of.local ?? []).map(operandOf);
    const writes = computed.map(operandOf);
    const scatters = (of.scatters ?? []).map(operandOf);
    const streamed = [...named].filter(
      ({ origin }) => origin.kind === 'weight' && origin.weight.use === 'matrix',
    );
    for (const operand of [...local, ...writes, ...scatters, ...streamed]) named.delete(operand);
    this.calls.push({
      table,
      axis: computed[0]?.axis ?? 'rows',
      locality,
      columns: of.columns ?? computed[0]?.width ?? 1,
      columnUnit: of.columnUnit ?? 1,
      columnBytes: of.columnBytes ?? ELEMENT_BYTES,
      rowsTogether: of.rowsTogether ?? false,
      matrices: of.matrices && {
        columns: of.matrices.columns,
        chosen: of.matrices.chosen && operandOf(of.matrices.chosen),
      },
      local,
      reads: [...named],
      streamed,
      writes,
      scatters,
    });
  }
}
