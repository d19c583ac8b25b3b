import { alignUp } from '../../base/bytes.ts';
import { invariant } from '../../base/errors.ts';
import {
  bound,
  boundBuffers,
  BUFFER_ALIGNMENT,
  type Bindings,
  type BufferRange,
  checkBindings,
  type Device,
  type Executable,
  type PackedWeight,
  type Program,
} from '../../device/index.ts';
import {
  type CollectiveOp,
  isCollective,
  type OpGraph,
  type State,
  type Tensor,
  tensorBytes,
} from '../../ops/index.ts';
import { cutGraphAt } from '../../ops/cut-graph.ts';
import { groupBuffer, onRank } from './group-memory.ts';
import { GroupWeight } from './group-weight.ts';

/** A piece of a rank's graph that its device computes alone, or one that the ranks compute together. */
type Piece =
  | { readonly graph: OpGraph; readonly program: Program }
  | { readonly graph: OpGraph; readonly op: CollectiveOp };

/** What a group runs between two points: each rank's program, or a collective. */
export type GroupPiece =
  { readonly kind: 'programs'; readonly ranks: readonly Executable[] } | BoundCollective;

/** A collective with the memory of its operands on every rank. */
export interface BoundCollective {
  readonly kind: 'collective';
  readonly op: CollectiveOp;
  /** Which of the batch's counts is the number of its rows in use. */
  readonly count: 0 | 1;
  /** The numbers of rows in use, on rank 0. */
  readonly counts: BufferRange;
  readonly xs: readonly BufferRange[];
  readonly outs: readonly BufferRange[];
}

/** A program of a group, bound to addresses. */
export interface GroupExecutable extends Executable {
  readonly program: GroupProgram;
  readonly pieces: readonly GroupPiece[];
}

/** One rank's part of a program: its pieces, and where in its scratch the values lie that cross from one to another. */
interface RankProgram {
  readonly pieces: readonly Piece[];
  readonly crossings: ReadonlyMap<string, { readonly offset: number; readonly byteLength: number }>;
  readonly crossingBytes: number;
  readonly pieceBytes: number;
}

/**
 * A graph compiled for the ranks of a group: each device compiles its rank's graph, in pieces that end where the ranks have to
 * compute something together.
 */
export class GroupProgram implements Program {
  readonly weights: readonly GroupWeight[];
  readonly scratchBytes: number;
  readonly #ranks: readonly RankProgram[];

  private constructor(
    readonly graph: OpGraph,
    ranks: readonly RankProgram[],
  ) {
    this.#ranks = ranks;
    this.weights = joinedWeights(ranks);
    this.scratchBytes = Math.max(...ranks.map(({ crossingBytes, pieceBytes }) => crossingBytes + pieceBytes));
  }

  /**
   * Compiles on all devices at once. A graph that was recorded for no group is computed whole by every rank. Devices that are linked
   * (`Device.linkPeers`) compute collectives themselves: nothing is cut.
   */
  static async compile(
    graph: OpGraph,
    devices: readonly Device[],
    areLinked: boolean,
  ): Promise<GroupProgram> {
    const graphs = graph.ranks ?? devices.map(() => graph);
    invariant(graphs.length === devices.length, `${graph.name} was recorded for ${devices.length} ranks`);
    const ranks = await Promise.all(
      devices.map((device, rank) => compileRank(device, graphs[rank] as OpGraph, areLinked)),
    );
    const shapes = new Set(
      ranks.map(({ pieces }) => pieces.map((piece) => ('op' in piece ? piece.op.kind : '')).join()),
    );
    invariant(shapes.size === 1, `the ranks of ${graph.name} meet in the same order`);
    return new GroupProgram(graph, ranks);
  }

  bind(bindings: Bindings): GroupExecutable {
    checkBindings(this, bindings);
    const buffers = boundBuffers(bindings);
    for (const buffer of buffers) groupBuffer({ buffer }, 'binding');
    const ranks = this.#ranks.map((_, rank) => this.#bindRank(rank, bindings));
    const pieces = (ranks[0] ?? []).map((piece, index): GroupPiece => {
      const all = ranks.map((of) => of[index] as RankPiece);
      if (piece.kind === 'program') {
        return { kind: 'programs', ranks: all.map((of) => (of as typeof piece).executable) };
      }
      const { op, counts } = piece;
      const count = op.x.axis === 'outputs' ? 1 : 0;
      const [xs, outs] = [all.map((of) => (of as typeof piece).x), all.map((of) => (of as typeof piece).out)];
      return { kind: 'collective', op, count, counts, xs, outs };
    });
    return { program: this, buffers, pieces };
  }

  #bindRank(rank: number, bindings: Bindings): RankPiece[] {
    const { pieces, crossings, crossingBytes } = this.#ranks[rank] as RankProgram;
    const scratch = bindings.scratch && onRank(bindings.scratch, rank);
    const given = givenRanges(this.graph, bindings);
    // A graph may read and write values of one name.
    const madeAt = (name: string): BufferRange => {
      const outer = bindings.outputs.get(name);
      if (outer) return onRank(outer, rank);
      const place = crossings.get(name);
      invariant(place, `${name} crosses from piece to piece`);
      const { buffer, offset } = bound(scratch);
      return { buffer, offset: offset + place.offset, byteLength: place.byteLength };
    };
    const weights = new Map<PackedWeight, BufferRange>();
    for (const [weight, range] of bindings.weights) {
      const packed = (weight as GroupWeight).ranks[rank];
      if (packed) weights.set(packed, onRank(range, rank));
    }
    return pieces.map((piece): RankPiece => {
      const { graph } = piece;
      const values = new Map<Tensor | State, BufferRange>();
      // A piece has the graph's inputs, and behind them what earlier pieces have made.
      for (const [index, input] of graph.inputs.entries()) {
        const isGiven = index < this.graph.inputs.length;
        values.set(input, isGiven ? onRank(bound(given.get(input.name)), rank) : madeAt(input.name));
      }
      for (const state of graph.states) values.set(state, onRank(bound(given.get(state.name)), rank));
      const outputs = new Map(graph.outputs.map(({ name }) => [name, madeAt(name)]));
      if ('op' in piece) {
        const { op } = piece;
        const [out] = outputs.values();
        const counts = bound(values.get(graph.batch.counts));
        return { kind: 'collective', op, counts, x: bound(values.get(op.x)), out: bound(out) };
      }
      const { program } = piece;
      const shards = program.weights.map((packed) => [packed, bound(weights.get(packed))] as const);
      const rest = scratch && {
        buffer: scratch.buffer,
        offset: scratch.offset + crossingBytes,
        byteLength: scratch.byteLength - crossingBytes,
      };
      return {
        kind: 'program',
        executable: program.bind({ values, outputs, weights: new Map(shards), scratch: rest }),
      };
    });
  }
}

type RankPiece =
  | { readonly kind: 'program'; readonly executable: Executable }
  | {
      readonly kind: 'collective';
      readonly op: CollectiveOp;
      readonly counts: BufferRange;
      readonly x: BufferRange;
      readonly out: BufferRange;
    };

async function compileRank(device: Device, graph: OpGraph, areLinked: boolean): Promise<RankProgram> {
  const cuts = graph.ops.flatMap((op, index) => {
    if (areLinked || !isCollective(op)) return [];
    return index === 0 ? [index + 1] : [index, index + 1];
  });
  const { ranks: _, ...own } = graph;
  const graphs = cutGraphAt(own, cuts);
  const pieces = await Promise.all(
    graphs.map(async (piece): Promise<Piece> => {
      const [op] = piece.ops;
      if (!areLinked && op && isCollective(op)) return { graph: piece, op };
      return { graph: piece, program: await device.compile(piece) };
    }),
  );
  const outer = new Set(graph.outputs.map(({ name }) => name));
  const crossings = new Map<string, { offset: number; byteLength: number }>();
  let crossingBytes = 0;
  for (const { outputs } of graphs) {
    for (const { name, tensor } of outputs) {
      if (outer.has(name) || crossings.has(name)) continue;
      const byteLength = tensorBytes(tensor, graph.shape);
      crossings.set(name, { offset: crossingBytes, byteLength });
      crossingBytes += alignUp(byteLength, BUFFER_ALIGNMENT);
    }
  }
  const scratch = pieces.map((piece) => ('op' in piece ? 0 : piece.program.scratchBytes));
  return { pieces, crossings, crossingBytes, pieceBytes: Math.max(0, ...scratch) };
}

/** The ranges that a graph's inputs and states are bound to, by name. */
function givenRanges({ inputs, states }: OpGraph, { values }: Bindings): ReadonlyMap<string, BufferRange> {
  return new Map([...inputs, ...states].map((value) => [value.name, bound(values.get(value))]));
}

/** The weights of all ranks' programs: those that are made of the same tensors are one. */
function joinedWeights(ranks: readonly RankProgram[]): GroupWeight[] {
  const joined = new Map<string, (PackedWeight | undefined)[]>();
  for (const [rank, { pieces }] of ranks.entries()) {
    const seen = new Map<string, number>();
    for (const packed of pieces.flatMap((piece) => ('op' in piece ? [] : piece.program.weights))) {
      const names = packed.parts.map(({ name }) => name).join(' ');
      const nth = seen.get(names) ?? 0;
      seen.set(names, nth + 1);
      const key = `${nth} ${names}`;
      const known = joined.get(key) ?? ranks.map(() => undefined);
      known[rank] = packed;
      joined.set(key, known);
    }
  }
  return [...joined.values()].map((of) => new GroupWeight(of));
}
