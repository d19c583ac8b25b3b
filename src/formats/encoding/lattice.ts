const { fround } = Math;

/**
 * The points of a codebook among all combinations of its levels, and for a combination that is none, the points around
 * it. A combination is a number whose digits are the ranks of its levels, two or three bits each.
 */
export class Lattice {
  readonly #book: () => Int8Array;
  readonly width: 4 | 8;
  /** Distances from a combination within which points are its neighbours, counted from the nearest. */
  readonly #shells: number;
  /** Made on first use: most programs never encode. */
  #made: Points | undefined;

  constructor(book: () => Int8Array, width: 4 | 8, shells: number) {
    this.#book = book;
    this.width = width;
    this.#shells = shells;
  }

  /** Ranks of the levels of all entries, one after another. */
  get ranks(): Uint8Array {
    return this.#points.ranks;
  }

  /** The entry of a combination, or -1. */
  entryAt(combination: number): number {
    return this.#points.entries[combination] as number;
  }

  /** The entries nearest to a combination that is none, in order of their distance. */
  neighboursOf(combination: number): Uint16Array {
    const { neighbours } = this.#points;
    let found = neighbours.get(combination);
    if (!found) neighbours.set(combination, (found = this.#findNeighbours(combination)));
    return found;
  }

  get #points(): Points {
    return (this.#made ??= pointsOf(this.#book(), this.width));
  }

  #findNeighbours(combination: number): Uint16Array {
    const { ranks, bits } = this.#points;
    const { width } = this;
    const shells: number[][] = [];
    for (let entry = 0; entry < ranks.length / width; entry++) {
      let distance = 0;
      for (let i = 0; i < width; i++) {
        const rank = (combination >> (bits * i)) & ((1 << bits) - 1);
        distance += ((ranks[entry * width + i] as number) - rank) ** 2;
      }
      (shells[distance] ??= []).push(entry);
    }
    const filled = shells.filter((shell) => shell.length > 0);
    return Uint16Array.from(filled.slice(0, this.#shells).flat());
  }
}

interface Points {
  readonly ranks: Uint8Array;
  /** Bits of a rank in a combination. */
  readonly bits: number;
  /** By combination, the entry or -1. */
  readonly entries: Int16Array;
  readonly neighbours: Map<number, Uint16Array>;
}

function pointsOf(book: Int8Array, width: 4 | 8): Points {
  const levels = [...new Set(book)].toSorted((a, b) => a - b);
  const bits = width === 8 ? 2 : 3;
  const ranks = Uint8Array.from(book, (level) => levels.indexOf(level));
  const entries = new Int16Array(1 << (bits * width)).fill(-1);
  for (let entry = 0; entry < ranks.length / width; entry++) {
    let combination = 0;
    for (let i = 0; i < width; i++) combination |= (ranks[entry * width + i] as number) << (bits * i);
    entries[combination] = entry;
  }
  return { ranks, bits, entries, neighbours: new Map() };
}

/** Values that one entry stands for, and how much their errors count. */
export interface LatticeRun {
  readonly values: Float32Array;
  readonly weights: Float32Array;
  readonly from: number;
}

/** The neighbour of a combination that is nearest to the values when ranks stand for `scale * levels[rank]`. */
export function nearestNeighbour(
  lattice: Lattice,
  combination: number,
  { values, weights, from }: LatticeRun,
  scale: number,
  levels: ArrayLike<number>,
): number {
  const { ranks, width } = lattice;
  let best = -1;
  let bestError = Number.POSITIVE_INFINITY;
  for (const entry of lattice.neighboursOf(combination)) {
    let error = 0;
    for (let i = 0; i < width; i++) {
      const level = levels[ranks[entry * width + i] as number] as number;
      const difference = fround(fround(scale * level) - (values[from + i] as number));
      error = fround(error + fround(fround((weights[from + i] as number) * difference) * difference));
    }
    if (error < bestError) {
      bestError = error;
      best = entry;
    }
  }
  return best;
}
