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
  refuseHotExperts,
  type ScratchPlan,
  ScratchUses,
} from '../../../device/index.ts';
import type { OpGraph } from '../../../ops/index.ts';
import type { BankSet } from '../memory/bank-set.ts';
import { type Place, placeOf } from '../memory/cpu-buffer.ts';
import { checkOverlaps } from './check-overlaps.ts';
import { CHUNKS_PER_THREAD } from './chunk-size.ts';
import { LOWER_OPS } from '../lowering/lower-ops.ts';
import { Lowering } from '../lowering/lowering.ts';
import type { CpuPackedWeight } from '../lowering/packed-weight.ts';
import { type Phase, schedule } from './schedule.ts';
import type { Operand } from '../lowering/operands.ts';
import type { LayoutTable } from '../weight-layouts.ts';

/** A compiled graph: its calls in phases, and the memory that they use. */
export class CpuProgram implements Program {
  readonly phases: readonly Phase[];
  readonly operands: readonly Operand[];
  readonly weights: readonly CpuPackedWeight[];
  readonly scratchBytes: number;
  /** The operand that holds the numbers of rows in use. */
  readonly counts: Operand;
  readonly #scratchOffsets: ReadonlyMap<Operand, number>;
  readonly #shared: ReadonlySet<Operand>;
  readonly #banks: BankSet;

  /** Throws `OP_UNSUPPORTED`. */
  constructor(
    readonly graph: OpGraph,
    of: { banks: BankSet; threads: number; layouts: LayoutTable },
  ) {
    this.#banks = of.banks;
    const lowering = new Lowering(graph, of.layouts);
    this.counts = lowering.operands.tensor(graph.batch.counts);
    refuseHotExperts('cpu', graph);
    for (const op of graph.ops) applyByKind(LOWER_OPS, op, lowering);
    this.phases = schedule(lowering.calls, of.threads * CHUNKS_PER_THREAD);
    this.#shared = sharedOperands(this.phases);
    this.operands = lowering.operands.all;
    this.weights = lowering.weights;
    const { offsets, byteLength } = operandScratch(this.phases);
    this.#scratchOffsets = offsets;
    this.scratchBytes = byteLength;
  }

  bind(bindings: Bindings): CpuExecutable {
    checkBindings(this, bindings);
    const places = this.operands.map((operand) => this.#placeOf(operand, bindings));
    checkOverlaps(this.graph.name, this.phases, places);
    return new CpuExecutable(this, places, boundBuffers(bindings));
  }

  /** Whether several tasks use an operand. */
  isShared(operand: Operand): boolean {
    return this.#shared.has(operand);
  }

  /** Whether the program belongs to the device with these banks. */
  isOf(banks: BankSet): boolean {
    return banks === this.#banks;
  }

  #placeOf(operand: Operand, bindings: Bindings): Place {
    const range = rangeOf(operand, bindings);
    invariant(range, `${operand.name} is bound`);
    const use = { graph: this.graph.name, value: operand.name, banks: this.#banks };
    const offset = this.#scratchOffsets.get(operand);
    const { bank, offset: base } = placeOf(
      range,
      offset === undefined ? operand.byteLength : this.scratchBytes,
      use,
    );
    return { bank, offset: base + (offset ?? 0), byteLength: operand.byteLength };
  }
}

/** A program with a location for every operand. */
export class CpuExecutable implements Executable {
  constructor(
    readonly program: CpuProgram,
    readonly places: readonly Place[],
    readonly buffers: ReadonlySet<DeviceBuffer>,
  ) {}
}

function rangeOf({ origin }: Operand, bindings: Bindings): BufferRange | undefined {
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

function sharedOperands(phases: readonly Phase[]): Set<Operand> {
  const seen = new Set<Operand>();
  const shared = new Set<Operand>();
  for (const { calls } of phases.flat()) {
    const own = new Set(calls.flatMap((call) => [...call.local, ...call.reads, ...call.writes]));
    for (const operand of own) (seen.has(operand) ? shared : seen).add(operand);
  }
  return shared;
}

/** Assigns offsets in scratch so that no operand overlaps another that is live in the same phase. */
function operandScratch(phases: readonly Phase[]): ScratchPlan<Operand> {
  const uses = new ScratchUses<Operand>();
  phases.forEach((tasks, phase) => {
    for (const call of tasks.flatMap(({ calls }) => calls)) {
      for (const operand of [...call.writes, ...call.local, ...call.reads]) {
        if (operand.origin.kind === 'scratch') uses.use(operand, phase, operand.byteLength);
      }
    }
  });
  return uses.plan();
}
