import { invariant } from '../../../base/errors.ts';
import { applyByKind } from '../../../base/kind-table.ts';
import {
  type Bindings,
  boundBuffers,
  type BufferRange,
  checkBindings,
  type DeviceBuffer,
  type Executable,
  type Program,
  type ScratchPlan,
  ScratchUses,
} from '../../../device/index.ts';
import type { OpGraph } from '../../../ops/index.ts';
import type { BankSet } from '../memory/bank-set.ts';
import { type Place, placeOf } from '../memory/cpu-buffer.ts';
import { checkOverlaps } from './check-overlaps.ts';
import { CHUNKS_A_THREAD } from './chunk-size.ts';
import { LOWER_OPS } from '../lowering/lower-ops.ts';
import { Lowering } from '../lowering/lowering.ts';
import type { CpuPackedWeight } from '../lowering/packed-weight.ts';
import { type Phase, schedule } from './schedule.ts';
import type { Slot } from '../lowering/slots.ts';

/** A compiled graph: its calls in phases, and the memory they name. */
export class CpuProgram implements Program {
  readonly phases: readonly Phase[];
  readonly slots: readonly Slot[];
  readonly weights: readonly CpuPackedWeight[];
  readonly scratchBytes: number;
  /** Slot of the numbers of rows in use. */
  readonly counts: Slot;
  readonly #scratchOffsets: ReadonlyMap<Slot, number>;
  readonly #shared: ReadonlySet<Slot>;
  readonly #banks: BankSet;

  /** Throws `OP_UNSUPPORTED`. */
  constructor(
    readonly graph: OpGraph,
    of: { banks: BankSet; threads: number },
  ) {
    this.#banks = of.banks;
    const lowering = new Lowering(graph);
    this.counts = lowering.tensor(graph.batch.counts);
    for (const op of graph.ops) applyByKind(LOWER_OPS, op, lowering);
    this.phases = schedule(lowering.calls, of.threads * CHUNKS_A_THREAD);
    this.#shared = sharedSlots(this.phases);
    this.slots = lowering.slots.all;
    this.weights = lowering.weights;
    const { offsets, byteLength } = planSlots(this.phases);
    this.#scratchOffsets = offsets;
    this.scratchBytes = byteLength;
  }

  bind(bindings: Bindings): CpuExecutable {
    checkBindings(this, bindings);
    const places = this.slots.map((slot) => this.#placeOf(slot, bindings));
    checkOverlaps(this.graph.name, this.phases, places);
    return new CpuExecutable(this, places, boundBuffers(bindings));
  }

  /** True for a slot that several tasks name. */
  isShared(slot: Slot): boolean {
    return this.#shared.has(slot);
  }

  /** True for a program of the device with these banks. */
  isOf(banks: BankSet): boolean {
    return banks === this.#banks;
  }

  #placeOf(slot: Slot, bindings: Bindings): Place {
    const range = rangeOf(slot, bindings);
    invariant(range, `${slot.name} is bound`);
    const use = { graph: this.graph.name, value: slot.name, banks: this.#banks };
    const offset = this.#scratchOffsets.get(slot);
    const { bank, offset: base } = placeOf(
      range,
      offset === undefined ? slot.byteLength : this.scratchBytes,
      use,
    );
    return { bank, offset: base + (offset ?? 0), byteLength: slot.byteLength };
  }
}

/** A program with a place for every slot. */
export class CpuExecutable implements Executable {
  constructor(
    readonly program: CpuProgram,
    readonly places: readonly Place[],
    readonly buffers: ReadonlySet<DeviceBuffer>,
  ) {}
}

function rangeOf({ origin }: Slot, bindings: Bindings): BufferRange | undefined {
  switch (origin.kind) {
    case 'value':
      return bindings.values.get(origin.value);
    case 'output':
      return bindings.outputs.get(origin.output);
    case 'weight':
      return bindings.weights.get(origin.weight);
    case 'scratch':
      return bindings.scratch;
  }
}

function sharedSlots(phases: readonly Phase[]): Set<Slot> {
  const seen = new Set<Slot>();
  const shared = new Set<Slot>();
  for (const { calls } of phases.flat()) {
    const own = new Set(calls.flatMap((call) => [...call.local, ...call.reads, ...call.writes]));
    for (const slot of own) (seen.has(slot) ? shared : seen).add(slot);
  }
  return shared;
}

/** Places scratch so that nothing shares bytes with what is alive in the same phase. */
function planSlots(phases: readonly Phase[]): ScratchPlan<Slot> {
  const uses = new ScratchUses<Slot>();
  phases.forEach((tasks, phase) => {
    for (const call of tasks.flatMap(({ calls }) => calls)) {
      for (const slot of [...call.writes, ...call.local, ...call.reads]) {
        if (slot.origin.kind === 'scratch') uses.use(slot, phase, slot.byteLength);
      }
    }
  });
  return uses.plan();
}
