/** Any view or buffer of bytes as a `Uint8Array` over the same memory. */
export function asBytes(view: ArrayBufferView | ArrayBufferLike): Uint8Array {
  return ArrayBuffer.isView(view)
    ? new Uint8Array(view.buffer, view.byteOffset, view.byteLength)
    : new Uint8Array(view);
}

/** `value` rounded up to a multiple of `alignment`, which need not be a power of two. */
export function alignUp(value: number, alignment: number): number {
  return Math.ceil(value / alignment) * alignment;
}

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

/** How a byte count is written: a unit of so many bytes, and digits behind the point. */
interface ByteScale {
  readonly unit: string;
  readonly bytes: number;
  readonly digits: number;
}

function scaleOf(count: number): ByteScale {
  let power = 0;
  let bytes = 1;
  while (count >= bytes * 1024 && power < UNITS.length - 1) {
    bytes *= 1024;
    power++;
  }
  return { unit: UNITS[power] as string, bytes, digits: power === 0 ? 0 : count / bytes < 10 ? 2 : 1 };
}

/** A byte count for people: `17.5 MiB`. */
export function formatBytes(count: number): string {
  const { unit, bytes, digits } = scaleOf(count);
  return `${bytes === 1 ? count : (count / bytes).toFixed(digits)} ${unit}`;
}

/** A sum of byte counts for people, in one unit. */
export interface ByteSum<Name extends string> {
  /** Not less than the sum. */
  readonly total: string;
  /** What is as written adds up to the total as written. */
  readonly parts: Readonly<Record<Name, string>>;
  /** Another count in the same unit, not more than it is. */
  atMost(count: number): string;
}

/** Writes a sum so that it holds as it is read: each part is rounded up or down, those up that are nearest to it. */
export function formatByteSum<Name extends string>(counts: Readonly<Record<Name, number>>): ByteSum<Name> {
  const entries = Object.entries(counts) as [Name, number][];
  const sum = entries.reduce((total, [, count]) => total + count, 0);
  const { unit, bytes, digits } = scaleOf(sum);
  const step = bytes / 10 ** digits;
  const write = (steps: number) => `${(steps / 10 ** digits).toFixed(digits)} ${unit}`;
  const whole = entries.reduce((steps, [, count]) => steps + Math.floor(count / step), 0);
  const total = Math.ceil(sum / step);
  const up = entries
    .toSorted(([, a], [, b]) => (b % step) - (a % step))
    .slice(0, total - whole)
    .map(([name]) => name);
  const steps = ([name, count]: [Name, number]) => Math.floor(count / step) + (up.includes(name) ? 1 : 0);
  const parts = Object.fromEntries(entries.map((entry) => [entry[0], write(steps(entry))]));
  return {
    total: write(total),
    parts: parts as Record<Name, string>,
    atMost: (count) => write(Math.floor(count / step)),
  };
}
