import type { OpGraph, State, Tensor, Weight } from '../../../ops/index.ts';
import type { LoweredCall } from './lowered-call.ts';
import { CpuPackedWeight, type WeightUse } from './packed-weight.ts';
import { type Slot, SlotTable } from './slots.ts';

/** A call as a lowering states it: what it has none of may be left out. */
type CallParts = Pick<LoweredCall, 'table' | 'axis' | 'locality'> & Partial<LoweredCall>;

/** Bytes that an element-wise call moves for a column, with a bit of arithmetic counted in. */
const ELEMENT_BYTES = 64;

/** Collects the calls of a graph's operators, with the memory and the packed weights that they name. */
export class Lowering {
  readonly slots: SlotTable;
  readonly calls: LoweredCall[] = [];
  readonly #weights = new Map<string, CpuPackedWeight>();
  readonly #quantized = new Map<string, Slot>();

  constructor(readonly graph: OpGraph) {
    this.slots = new SlotTable(graph);
  }

  get weights(): readonly CpuPackedWeight[] {
    return [...this.#weights.values()];
  }

  tensor(tensor: Tensor): Slot {
    return this.slots.tensor(tensor);
  }

  state(state: State): Slot {
    return this.slots.state(state);
  }

  /** The weight packed for a use; the same use twice gives the same slot. */
  weight(weight: Weight, use: WeightUse): Slot {
    const key = `${use} ${weight.id}`;
    const known = this.#weights.get(key);
    const packed = known ?? CpuPackedWeight.of(weight, use);
    if (!known) this.#weights.set(key, packed);
    return this.slots.weight(packed);
  }

  /** The tensor's quantized form with a scale for `span` groups, made by `quantize` at the first call. */
  quantized(tensor: Tensor, span: number, quantize: () => Slot): Slot {
    const key = `${tensor.id} ${span}`;
    const known = this.#quantized.get(key);
    if (known) return known;
    const slot = quantize();
    this.#quantized.set(key, slot);
    return slot;
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
