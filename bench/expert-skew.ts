// A stated skew in how often a mixture's experts are chosen, made by biases on the scores by which its routers select.
import { seededRandom } from '../src/base/seeded-random.ts';

/** A layer's router: how many experts it has, how many of them a token gets, and the skew between them. */
export interface RouterSkew {
  readonly count: number;
  readonly used: number;
  /** The fraction of all choices that the more used half of the experts gets: 0.5 is none, 1 all. */
  readonly half: number;
}

/** Correction steps behind the first guess. */
const STEPS = 20;
/** The first correction, in standard deviations of an expert's score for each factor of e in its use; later ones are smaller. */
const RATE = 0.3;

/**
 * How often a token chooses each expert, the most used one first: all but those that every token chooses are used less by
 * the same factor than the one before.
 */
export function usesByRank({ count, used, half }: RouterSkew): Float64Array {
  const factor = ((1 - half) / half) ** (2 / count);
  const of = (scale: number) =>
    Float64Array.from({ length: count }, (_, rank) => Math.min(1, scale * factor ** rank));
  let [low, high] = [0, used * factor ** -count];
  for (let step = 0; step < 100; step++) {
    const middle = (low + high) / 2;
    if (of(middle).reduce((a, b) => a + b, 0) < used) low = middle;
    else high = middle;
  }
  return of(high);
}

/** A layer's experts by rank, drawn by its number. */
export function shuffledExperts(count: number, layer: number): number[] {
  const random = seededRandom(1000 + layer);
  const drawn = Array.from({ length: count }, (_, expert) => ({ expert, at: random() }));
  return drawn.sort((a, b) => a.at - b.at).map(({ expert }) => expert);
}

/**
 * Biases with which `used` of a row's experts have the highest sums of score and bias as often as `uses` says, by expert.
 * `scores` are f32 [rows, experts].
 */
export function fittedBiases(scores: Float32Array, uses: Float64Array, used: number): Float32Array {
  const count = uses.length;
  const rows = scores.length / count;
  const columns = Array.from(uses, (_, expert) =>
    Float32Array.from({ length: rows }, (_unused, row) => scores[row * count + expert] as number).sort(),
  );
  // Each exceeds zero as often as it is to be chosen; what is left is that the number that do varies from row to row.
  const biases = Float32Array.from(
    columns,
    (column, expert) => -quantile(column, 1 - (uses[expert] as number)),
  );
  const spreads = columns.map(deviation);
  const least = 0.5 / rows;
  for (let step = 0; step < STEPS; step++) {
    const found = chosenBy(scores, biases, used);
    for (let expert = 0; expert < count; expert++) {
      const [wanted, is] = [uses[expert] as number, (found[expert] as number) / rows];
      const off = Math.log((wanted + least) / (is + least));
      biases[expert] =
        (biases[expert] as number) + (RATE / (1 + step / 5)) * off * (spreads[expert] as number);
    }
  }
  return biases;
}

/** How many rows choose each expert. */
function chosenBy(scores: Float32Array, biases: Float32Array, used: number): Int32Array {
  const count = biases.length;
  const found = new Int32Array(count);
  const sums = new Float32Array(count);
  for (let from = 0; from < scores.length; from += count) {
    for (let i = 0; i < count; i++) sums[i] = (scores[from + i] as number) + (biases[i] as number);
    const least = sums.toSorted()[count - used] as number;
    for (let i = 0; i < count; i++) if ((sums[i] as number) >= least) found[i] = (found[i] as number) + 1;
  }
  return found;
}

function quantile(sorted: Float32Array, at: number): number {
  const place = Math.min(sorted.length - 1, Math.max(0, at * sorted.length - 0.5));
  const [below, above] = [sorted[Math.floor(place)] as number, sorted[Math.ceil(place)] as number];
  return below + (above - below) * (place - Math.floor(place));
}

function deviation(values: Float32Array): number {
  const mean = values.reduce((a, b) => a + b, 0) / values.length;
  return Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length);
}
