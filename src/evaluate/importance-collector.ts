import type { ProductInput } from '../plan/taps/product-inputs.ts';
import type { TappedValue, Taps } from '../plan/taps/tap.ts';
import type { WeightSums } from '../quantize/importance-file.ts';

/** Sums in f64, which rounding does not depend on the length of the text. */
interface Sums {
  readonly squares: Float64Array;
  readonly counts: Float64Array;
}

/** Rows of a value: the last that a tap has shown, and how often it has. */
interface Shown {
  readonly step: number;
  readonly value: TappedValue;
}

/**
 * Sums the squares of what each weight of the layers multiplies while a model runs with its taps, as llama.cpp's imatrix
 * does: dense weights over all rows, an expert's over the rows that chose it.
 */
export class ImportanceCollector {
  /** For `loadModel`. */
  readonly taps: Taps;
  /** Weights whose input no tap shows. */
  readonly missing: readonly string[];
  readonly #products: readonly ProductInput[];
  /** Of dense products by what they read, because many read the same; of experts by the weight. */
  readonly #sums = new Map<string, Sums>();
  readonly #shown = new Map<string, Shown>();

  constructor(products: readonly ProductInput[]) {
    const isSeen = ({ tap, experts, choices }: ProductInput) =>
      tap !== undefined && (experts === 1 || choices !== undefined);
    this.#products = products.filter(isSeen);
    this.missing = products.filter((product) => !isSeen(product)).map(({ weight }) => weight);
    const readers = new Map<string, ProductInput[]>();
    for (const product of this.#products) {
      for (const name of [product.tap, product.choices]) {
        if (name !== undefined) readers.set(name, [...(readers.get(name) ?? []), product]);
      }
    }
    const take = (value: TappedValue) => this.#take(value, readers.get(value.name) ?? []);
    this.taps = new Map([...readers.keys()].map((name) => [name, take]));
  }

  /** What was summed so far, by weight. */
  weights(): Map<string, WeightSums> {
    const floats = ({ squares, counts }: Sums): WeightSums => ({
      squares: Float32Array.from(squares),
      counts: Float32Array.from(counts),
    });
    const entries = this.#products.flatMap((product) => {
      const sums = this.#sums.get(keyOf(product));
      return sums ? [[product.weight, floats(sums)] as const] : [];
    });
    return new Map(entries);
  }

  #take(value: TappedValue, readers: readonly ProductInput[]): undefined {
    this.#shown.set(value.name, { step: (this.#shown.get(value.name)?.step ?? 0) + 1, value });
    const done = new Set<string>();
    for (const product of readers) {
      const key = keyOf(product);
      if (done.has(key)) continue;
      done.add(key);
      if (product.experts === 1) addDense(this.#sumsOf(product), value);
      else this.#takeExperts(product);
    }
    return undefined;
  }

  /** Adds the rows of a step once both they and the choices have been shown. */
  #takeExperts(product: ProductInput): void {
    const x = this.#shown.get(product.tap ?? '');
    const choices = this.#shown.get(product.choices ?? '');
    if (x && choices && x.step === choices.step)
      addExperts(this.#sumsOf(product), product, x.value, choices.value);
  }

  #sumsOf(product: ProductInput): Sums {
    const { columns, parts, experts } = product;
    const key = keyOf(product);
    const sums = this.#sums.get(key) ?? {
      squares: new Float64Array(columns * parts * experts),
      counts: new Float64Array(experts),
    };
    this.#sums.set(key, sums);
    return sums;
  }
}

function keyOf({ experts, tap, weight }: ProductInput): string {
  return experts === 1 ? `dense ${tap}` : weight;
}

function addDense({ squares, counts }: Sums, { rows, width, values }: TappedValue): void {
  for (let row = 0; row < rows; row++) addRow(squares, 0, values.subarray(row * width, (row + 1) * width));
  counts[0] = (counts[0] ?? 0) + rows;
}

function addExperts(
  { squares, counts }: Sums,
  { columns }: ProductInput,
  x: TappedValue,
  choices: TappedValue,
): void {
  const isOwn = x.width !== columns;
  for (let row = 0; row < x.rows; row++) {
    for (let choice = 0; choice < choices.width; choice++) {
      const expert = choices.values[row * choices.width + choice] ?? 0;
      const start = row * x.width + (isOwn ? choice * columns : 0);
      addRow(squares, expert * columns, x.values.subarray(start, start + columns));
      counts[expert] = (counts[expert] ?? 0) + 1;
    }
  }
}

function addRow(squares: Float64Array, at: number, row: Float32Array): void {
  for (let i = 0; i < row.length; i++) {
    const value = row[i] as number;
    squares[at + i] = (squares[at + i] as number) + value * value;
  }
}
