import { totalOf } from '../device/index.ts';
import type { ExecutionPlan } from './execution-plan.ts';
import { layerMemory } from './memory-demand.ts';
import { excessOf, type MemoryLimits } from './memory/fit-plan.ts';
import { stageLimits } from './memory/stage-fit.ts';
import { bytesOfOthers, layerBytes, legalStarts } from './ranks/stage-graphs.ts';

/** Layers to deal out to stages, and the room there. */
export interface Deal {
  /** Bytes of each layer's weights, by which stages are balanced. */
  readonly bytes: readonly number[];
  /** Bytes of the weights of no layer, which the last stage has. */
  readonly others: number;
  /** Where a stage may start, ascending, with the number of layers at the end. */
  readonly legal: readonly number[];
  /** For each stage, the bytes that each layer would take there. */
  readonly taken: readonly (readonly number[])[];
  /** For each stage, the bytes that its layers may take; infinite without a limit, negative where not even the rest has room. */
  readonly rooms: readonly number[];
}

/** A way to deal the first layers to the first stages. */
interface Dealt {
  readonly starts: readonly number[];
  /** The most that a stage takes of its room; 1 if all are within. */
  readonly fullest: number;
  /** The sum of the squares of the stages' bytes, which is least if they are even. */
  readonly squares: number;
}

/**
 * The first layers of stages whose layers are within their room, and as even by bytes as that allows: a stage with little memory is
 * full, and the others share the rest. If there are none, those by which the fullest stage exceeds its room by the smallest factor.
 * Each stage but the last has a layer. Undefined if there are fewer layers than that.
 */
export function dealLayers({ bytes, others, legal, taken, rooms }: Deal): readonly number[] | undefined {
  const count = bytes.length;
  const before = sumsOf(bytes);
  let dealt = new Map<number, Dealt>([[0, { starts: [], fullest: 1, squares: 0 }]]);
  for (const [stage, room] of rooms.entries()) {
    const isLast = stage === rooms.length - 1;
    const takenBefore = sumsOf(taken[stage] ?? []);
    const next = new Map<number, Dealt>();
    for (const [from, { starts, fullest, squares }] of dealt) {
      for (const to of isLast ? [count] : legal.filter((end) => end > from)) {
        const load = between(before, from, to) + (isLast ? others : 0);
        const found: Dealt = {
          starts: [...starts, from],
          fullest: Math.max(fullest, shareOf(between(takenBefore, from, to), room)),
          squares: squares + load ** 2,
        };
        const known = next.get(to);
        if (!known || isBetter(found, known)) next.set(to, found);
      }
    }
    dealt = next;
  }
  return dealt.get(count)?.starts;
}

/** Starts for the stages of a plan's pipeline, by the room that it finds on each beside what is not the layers'. */
export function startsWithin(plan: ExecutionPlan, limits: MemoryLimits): readonly number[] | undefined {
  const { setup, plans } = plan;
  const { stages = [], info } = setup.device;
  const largest = plans.at(-1);
  if (!largest) return undefined;
  const { graphs } = largest;
  const layers = layerMemory(plans, setup);
  const stageOf = new Map(graphs.layers.map(({ order, graph }) => [order - 1, graph.stage ?? 0]));
  const ranks = stages.map(({ group }) => group?.ranks ?? 1);
  const ranksOf = (layer: number) => ranks[stageOf.get(layer) ?? 0] ?? 1;
  const { stages: fits = [] } = plan.fit();
  const rooms = stages.map(({ memoryRules, info: { backend } }, stage) => {
    const fit = fits[stage];
    const own = totalOf(layers.filter((_, layer) => stageOf.get(layer) === stage));
    const within = stageLimits(limits, stage, backend === info.backend);
    return fit ? own - excessOf(fit, within, memoryRules) : own;
  });
  return dealLayers({
    bytes: layerBytes(graphs),
    others: bytesOfOthers(graphs),
    legal: legalStarts(graphs),
    // Ranks of a group have a part of each layer.
    taken: ranks.map((of) => layers.map((taken, layer) => (taken * ranksOf(layer)) / of)),
    rooms,
  });
}

/** How much of a room is taken, from 1 on. */
function shareOf(taken: number, room: number): number {
  if (taken <= room) return 1;
  return room > 0 ? taken / room : Number.POSITIVE_INFINITY;
}

function isBetter(a: Dealt, b: Dealt): boolean {
  return a.fullest === b.fullest ? a.squares < b.squares : a.fullest < b.fullest;
}

/** The sums of the first none, one, two ... of them. */
function sumsOf(counts: readonly number[]): readonly number[] {
  let sum = 0;
  return [0, ...counts.map((count) => (sum += count))];
}

function between(sums: readonly number[], from: number, to: number): number {
  return (sums[to] ?? 0) - (sums[from] ?? 0);
}
