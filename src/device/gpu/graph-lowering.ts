import { fail, invariant } from '../../base/errors.ts';
import { capacityOf, type OpGraph, type Tensor, tensorBytes, type Weight } from '../../ops/index.ts';
import type { PackedWeight } from '../program.ts';
import { ScratchUses } from '../scratch-plan.ts';

/** Scratch used internally by a lowering, alive from the first launch that uses it to the last. */
export interface Temporary {
  readonly kind: 'temporary';
  readonly byteLength: number;
}

/** The layout of launches' scratch. */
export interface LaunchScratch {
  readonly byteLength: number;
  /** An operand's offset in the scratch; undefined if it is elsewhere. */
  offsetOf(operand: object): number | undefined;
}

/** What every lowering tracks, whatever its launches are: rows, required weights, scratch. */
export abstract class GraphLowering<Laid extends PackedWeight> {
  readonly #outputs: ReadonlySet<Tensor>;
  /** Results whose unused rows stay as they are. */
  readonly #kept: ReadonlySet<Tensor>;
  readonly #weights = new Map<string, Laid>();

  constructor(readonly graph: OpGraph) {
    this.#outputs = new Set(graph.outputs.map(({ tensor }) => tensor));
    const kept = graph.outputs.filter(({ unusedRows }) => unusedRows !== 'any');
    this.#kept = new Set(kept.map(({ tensor }) => tensor));
  }

  /** Row capacity of a tensor. */
  capacity(tensor: Tensor): number {
    return capacityOf(tensor.axis, this.graph.shape);
  }

  /** Scratch of that many bytes. */
  temporary(byteLength: number): Temporary {
    return { kind: 'temporary', byteLength };
  }

  /** Every weight that was requested. */
  protected get weights(): readonly Laid[] {
    return [...this.#weights.values()];
  }

  /** Weights laid out together, by `lay` on the first call: the same weights in the same layout are laid out once. */
  protected weightOnce(parts: readonly Weight[], layout: string, lay: () => Laid): Laid {
    const key = [layout, ...parts.map(({ id }) => id)].join(' ');
    const known = this.#weights.get(key);
    if (known) return known;
    const laid = lay();
    this.#weights.set(key, laid);
    return laid;
  }

  /** Which of the batch's counts is the number of a tensor's rows in use. Throws `OP_UNSUPPORTED` if there is none. */
  protected countIndex({ axis, name }: Tensor, device: string): 0 | 1 {
    if (axis === 'rows') return 0;
    if (axis === 'outputs') return 1;
    return fail('OP_UNSUPPORTED', { device, op: name, why: `its rows run over ${axis}` });
  }

  /** Plans the scratch of launches, given the operands of each. */
  protected planScratch(launches: readonly (readonly object[])[]): LaunchScratch {
    const uses = new ScratchUses<Tensor | Temporary>();
    launches.forEach((operands, step) => {
      for (const operand of operands) {
        if (this.liesInScratch(operand)) uses.use(operand, step, this.#bytesOf(operand));
      }
    });
    const { offsets, byteLength } = uses.plan();
    const offsetOf = (operand: object) => {
      if (!this.liesInScratch(operand)) return undefined;
      const offset = offsets.get(operand);
      invariant(offset !== undefined, 'scratch has a place');
      return offset;
    };
    return { byteLength, offsetOf };
  }

  /** Whether an operand's unused rows may be written: it lies in scratch, or is a result that says so. */
  mayFill(operand: object): boolean {
    const isResult = this.#outputs.has(operand as Tensor) && !this.#kept.has(operand as Tensor);
    return isResult || this.liesInScratch(operand);
  }

  /** Whether an operand is neither bound from outside nor a result. */
  liesInScratch(operand: object): operand is Tensor | Temporary {
    const of = operand as Partial<Tensor | Temporary>;
    if (of.kind === 'temporary') return true;
    return of.kind === 'tensor' && of.role === 'temp' && !this.#outputs.has(of as Tensor);
  }

  #bytesOf(value: Tensor | Temporary): number {
    return value.kind === 'tensor' ? tensorBytes(value, this.graph.shape) : value.byteLength;
  }
}
