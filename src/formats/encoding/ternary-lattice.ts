import { type Group, nearestWithin } from './block-source.ts';
import { type Lattice, nearestNeighbour } from './lattice.ts';

const { fround } = Math;

/** What the three ranks stand for, all shifted up or down by an eighth. */
export const SHIFTED = { up: [-0.875, 0.125, 1.125], down: [-1.125, -0.125, 0.875] } as const;

/** A group of elements near shifted ternary numbers, and their codebook entries. */
export interface TernaryFit {
  /** Not negative. */
  readonly scale: number;
  /** For each part of the group, whether it is shifted down. */
  readonly down: readonly boolean[];
  readonly entries: readonly number[];
}

/** Where sorted elements are cut into three, and the shifts of the parts. */
interface Cut {
  readonly first: number;
  readonly second: number;
  readonly down: readonly boolean[];
  readonly scale: number;
}

/**
 * The scale, shifts and entries with which a group comes closest, in weighted squares. Elements are sorted: for three
 * levels, the best ranks are some two cuts through them, and all cuts are tried. Each of `parts` equal parts has a shift.
 */
export function fitTernary(group: Group, lattice: Lattice, parts: 1 | 2): TernaryFit | undefined {
  const { values, from, count } = group;
  const order = Array.from({ length: count }, (_, i) => i).toSorted(
    (a, b) => (values[from + a] as number) - (values[from + b] as number),
  );
  const cut = parts === 1 ? cutWhole(group, order) : cutHalves(group, order);
  if (!cut) return undefined;
  const ranks = new Uint8Array(count);
  for (const [place, i] of order.entries()) ranks[i] = place < cut.first ? 0 : place < cut.second ? 1 : 2;
  const flip = cut.scale < 0;
  if (flip) for (let i = 0; i < count; i++) ranks[i] = 2 - (ranks[i] as number);
  const down = flip ? cut.down.map((isDown) => !isDown) : cut.down;
  return onLattice(group, ranks, lattice, { scale: Math.abs(cut.scale), down });
}

/** The shifted levels of run `run` of eight elements, of `runs`. */
export function levelsOf(down: readonly boolean[], run: number, runs: number): readonly number[] {
  return down[Math.floor((run * down.length) / runs)] ? SHIFTED.down : SHIFTED.up;
}

function onLattice(
  { values, from, count, weights }: Group,
  ranks: Uint8Array,
  lattice: Lattice,
  { scale, down }: { readonly scale: number; readonly down: readonly boolean[] },
): TernaryFit {
  const own = values.subarray(from, from + count);
  const runs = count / 8;
  let isOff = false;
  const entries = Array.from({ length: runs }, (_, run) => {
    let combination = 0;
    for (let i = 0; i < 8; i++) combination |= (ranks[8 * run + i] as number) << (2 * i);
    const entry = lattice.entryAt(combination);
    if (entry >= 0) return entry;
    isOff = true;
    const around = { values: own, weights, from: 8 * run };
    return nearestNeighbour(lattice, combination, around, scale, levelsOf(down, run, runs));
  });
  if (!isOff) return { scale, down, entries };
  let products = 0;
  let squares = 0;
  for (let i = 0; i < count; i++) {
    const run = i >> 3;
    const rank = lattice.ranks[8 * (entries[run] as number) + (i & 7)] as number;
    const weighed = fround((weights[i] as number) * (levelsOf(down, run, runs)[rank] as number));
    products = fround(products + fround(weighed * (own[i] as number)));
    squares = fround(squares + fround(weighed * (levelsOf(down, run, runs)[rank] as number)));
  }
  return { scale: products > 0 && squares > 0 ? fround(products / squares) : scale, down, entries };
}

/** Sums of weights, and of weighted values, of the first elements in an order; those outside a part count nothing. */
function sumsUpTo({ values, from, weights }: Group, order: readonly number[], isIn: (i: number) => boolean) {
  const sumX = new Float32Array(order.length + 1);
  const sumW = new Float32Array(order.length + 1);
  for (const [place, i] of order.entries()) {
    const weight = isIn(i) ? (weights[i] as number) : 0;
    sumX[place + 1] = (sumX[place] as number) + fround(weight * (values[from + i] as number));
    sumW[place + 1] = (sumW[place] as number) + weight;
  }
  return { sumX, sumW };
}

/** The best cut so far. */
class BestCut {
  cut: Cut | undefined;
  #score = Number.NEGATIVE_INFINITY;

  /** Keeps a cut if its error is smaller. */
  offer(products: number, squares: number, cut: Omit<Cut, 'scale'>): void {
    if (!(squares > 0 && fround(products * products) > fround(this.#score * squares))) return;
    const scale = fround(products / squares);
    this.#score = fround(scale * products);
    this.cut = { ...cut, scale };
  }
}

const [UP, DOWN] = [[false], [true]];

function cutWhole(group: Group, order: readonly number[]): Cut | undefined {
  const { sumX, sumW } = sumsUpTo(group, order, () => true);
  const best = new BestCut();
  const thirds = (sums: Float32Array, first: number, second: number) => [
    sums[first] as number,
    fround((sums[second] as number) - (sums[first] as number)),
    fround((sums.at(-1) as number) - (sums[second] as number)),
  ];
  for (let first = 0; first <= group.count; first++) {
    for (let second = first; second <= group.count; second++) {
      const x = thirds(sumX, first, second);
      const w = thirds(sumW, first, second);
      for (const down of [UP, DOWN]) {
        const levels = down === DOWN ? SHIFTED.down : SHIFTED.up;
        let [products, squares] = [0, 0];
        for (let i = 0; i < 3; i++) {
          const level = levels[i] as number;
          products = fround(products + fround((x[i] as number) * level));
          squares = fround(squares + fround(fround((w[i] as number) * level) * level));
        }
        best.offer(products, squares, { first, second, down });
      }
    }
  }
  return best.cut;
}

const SHIFTS_OF_HALVES = [
  [false, false],
  [false, true],
  [true, false],
  [true, true],
] as const;

function cutHalves(group: Group, order: readonly number[]): Cut | undefined {
  const half = group.count / 2;
  const halves = [sumsUpTo(group, order, (i) => i < half), sumsUpTo(group, order, (i) => i >= half)];
  const best = new BestCut();
  for (let first = 0; first <= group.count; first++) {
    for (let second = first; second <= group.count; second++) {
      const sums = halves.map(({ sumX, sumW }) =>
        [SHIFTED.up, SHIFTED.down].map((levels) => {
          const [low = 0, middle = 0, high = 0] = levels;
          const cut = fround((sumX[first] as number) + (sumX[second] as number));
          const all = fround(fround((sumW.at(-1) as number) * high) * high);
          const below = fround((sumW[first] as number) * (low * low - middle * middle));
          const between = fround((sumW[second] as number) * (middle * middle - high * high));
          return {
            products: fround(fround((sumX.at(-1) as number) * high) - cut),
            squares: fround(fround(all + below) + between),
          };
        }),
      );
      for (const down of SHIFTS_OF_HALVES) {
        const [a, b] = [sums[0]?.[down[0] ? 1 : 0], sums[1]?.[down[1] ? 1 : 0]];
        if (!a || !b) continue;
        best.offer(fround(a.products + b.products), fround(a.squares + b.squares), { first, second, down });
      }
    }
  }
  return best.cut;
}

/** Scales in units of `d`: the number `q` stands for `2 * q + 1`. */
export function oddNumbers(scales: Float32Array, d: number): number[] {
  const inverse = fround(1 / d);
  return Array.from(scales, (scale) =>
    nearestWithin(fround(0.5 * fround(fround(inverse * scale) - 1)), 0, 7),
  );
}
