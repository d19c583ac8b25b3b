import { alignUp } from '../base/bytes.ts';
import type { OpGraph } from '../ops/graph.ts';
import { operandsOf, resultsOf } from '../ops/op.ts';
import { type Tensor, tensorBytes } from '../ops/value.ts';
import { BUFFER_ALIGNMENT } from './memory.ts';

/** Memory that is needed from step `first` to step `last`, both included. */
export interface Lifespan {
  readonly byteLength: number;
  readonly first: number;
  readonly last: number;
}

/** The offsets of values in one arena. */
export interface ScratchPlan<Value> {
  readonly offsets: ReadonlyMap<Value, number>;
  readonly byteLength: number;
}

/** Records which steps use which values, and places them so that no two overlap while both are alive. */
export class ScratchUses<Value> {
  readonly #spans = new Map<Value, { byteLength: number; first: number; last: number }>();

  /** Steps must be given in order. */
  use(value: Value, step: number, byteLength: number): void {
    const span = this.#spans.get(value);
    if (span) span.last = step;
    else this.#spans.set(value, { byteLength, first: step, last: step });
  }

  plan(): ScratchPlan<Value> {
    const { offsets, byteLength } = planLifespans([...this.#spans.values()]);
    return {
      offsets: new Map([...this.#spans.keys()].map((value, i) => [value, offsets[i] as number])),
      byteLength,
    };
  }
}

/**
 * Places the graph's temporaries (not its outputs, which are bound from outside) so that no two overlap while both are
 * alive. A tensor lives from the operator that computes it to the last that reads it; an operator's results never share
 * bytes with its operands. A device whose steps are not the graph's operators uses `ScratchUses`.
 */
export function planScratch(graph: OpGraph): ScratchPlan<Tensor> {
  const outputs = new Set(graph.outputs.map(({ tensor }) => tensor));
  const uses = new ScratchUses<Tensor>();
  graph.ops.forEach((op, step) => {
    for (const value of [...resultsOf(op), ...operandsOf(op)]) {
      if (value.kind !== 'tensor' || value.role !== 'temp' || outputs.has(value)) continue;
      uses.use(value, step, tensorBytes(value, graph.shape));
    }
  });
  return uses.plan();
}

interface Placed {
  readonly span: Lifespan;
  readonly offset: number;
  readonly end: number;
}

/**
 * Offsets, multiples of `BUFFER_ALIGNMENT`, for lifespans: the largest is placed first, each into the smallest gap that
 * fits ("greedy by size", Pisarchyk & Lee 2020).
 */
export function planLifespans(spans: readonly Lifespan[]): { offsets: number[]; byteLength: number } {
  const offsets = new Array<number>(spans.length).fill(0);
  const placed: Placed[] = [];
  const order = spans.map((_, i) => i).sort((a, b) => sizeOf(spans[b]) - sizeOf(spans[a]));
  for (const i of order) {
    const span = spans[i] as Lifespan;
    const offset = bestGap(
      placed.filter((other) => other.span.first <= span.last && span.first <= other.span.last),
      sizeOf(span),
    );
    offsets[i] = offset;
    const end = offset + sizeOf(span);
    const at = placed.findIndex((other) => other.offset > offset);
    placed.splice(at < 0 ? placed.length : at, 0, { span, offset, end });
  }
  return { offsets, byteLength: placed.reduce((largest, { end }) => Math.max(largest, end), 0) };
}

function sizeOf(span: Lifespan | undefined): number {
  return alignUp(span?.byteLength ?? 0, BUFFER_ALIGNMENT);
}

/** The offset of the smallest sufficient gap between neighbours, given by ascending offset, or the end of the last. */
function bestGap(neighbours: readonly Placed[], byteLength: number): number {
  let end = 0;
  let best: number | undefined;
  let slack = Number.POSITIVE_INFINITY;
  for (const { offset, end: next } of neighbours) {
    const gap = offset - end;
    if (gap >= byteLength && gap - byteLength < slack) {
      best = end;
      slack = gap - byteLength;
    }
    end = Math.max(end, next);
  }
  return best ?? end;
}
