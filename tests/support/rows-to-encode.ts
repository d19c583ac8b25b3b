import { seededRandom } from '../../src/base/seeded-random.ts';

/** Elements per row: two of the largest blocks. */
export const ROW_ELEMENTS = 512;

/** What the rows of weights are like, one row each; `noise` is nearly normal with deviation 0.04. */
const ROWS: readonly ((noise: () => number, i: number) => number)[] = [
  (noise) => noise(),
  (noise, i) => (i % 53 === 7 ? 10 : 1) * noise(),
  (noise) => 100 * noise() ** 3,
  (noise) => Math.abs(noise()),
  (noise) => Math.round(40 * noise()) / 64,
  (noise, i) => ((i >> 5) % 3 === 0 ? 0 : 1e-3 * ((i >> 4) % 5) * noise()),
];

/** How often every kind of row is there. */
const TIMES = 2;

/** Rows of weights for encoders, with the importance of each column: the same numbers on every machine. */
export function rowsToEncode(): {
  readonly rows: readonly Float32Array[];
  readonly importance: Float32Array;
} {
  const random = seededRandom(21);
  const noise = () => {
    let sum = -4;
    for (let i = 0; i < 8; i++) sum += random();
    return sum / 20;
  };
  const rows = Array.from({ length: TIMES * ROWS.length }, (_, row) => {
    const kind = ROWS[row % ROWS.length];
    return Float32Array.from({ length: ROW_ELEMENTS }, (_value, i) => kind?.(noise, i) ?? 0);
  });
  const importance = Float32Array.from({ length: ROW_ELEMENTS }, () => 0.01 + 10 * random() ** 4);
  return { rows, importance };
}
