import { invariant } from '../../base/errors.ts';
import { floatToHalf } from '../../base/half.ts';
import type { BlockLayout } from '../block-layout.ts';
import type { TensorFormat } from '../tensor-format.ts';
import { type BlockSource, clear, groupOf, meanSquareOf, nearestWithin } from './block-source.ts';
import { FieldPacker } from './field-packer.ts';
import { fitUnsigned } from './fit-signed.ts';
import { type Lattice, nearestNeighbour } from './lattice.ts';

const { fround } = Math;

const ELEMENTS = 256;

/** How a format of codebook entries with signs is encoded. Entries stand for odd numbers `2 * rank + 1`. */
export interface LatticeSpec {
  readonly blockBytes: number;
  readonly layout: BlockLayout;
  readonly lattice: Lattice;
  /** Elements that share a scale. */
  readonly group: 16 | 32;
  /** What the block's mean square is multiplied by in weights. */
  readonly varianceFactor: 1 | 2;
  /** The weight of an element without importance. */
  readonly otherwise: (value: number, variance: number) => number;
  /** Groups below this magnitude are zeros. */
  readonly tiny: number;
  /** Scales that are tried: so many on either side, so far apart, in units of the largest level's share. */
  readonly candidates: number;
  readonly step: number;
  /** What is rounded again with the best scale: nothing that lies on the lattice, all if anything does not, or all. */
  readonly again: 'off' | 'all-if-off' | 'all';
  /** A little more or less than the best scale is best in the end. */
  readonly correction: number;
  /** Whether the first scale is fitted to the values, with codes in numbers or bytes, not taken from the largest of them. */
  readonly fitsFirst?: 'numbers' | 'bytes';
}

/** Encodes blocks of one format. */
export class LatticeEncoder {
  readonly #spec: LatticeSpec;
  readonly #entries: FieldPacker;
  readonly #signs: FieldPacker;
  readonly #scales: FieldPacker;
  /** Whether an even number of elements is negated in each run of eight. */
  readonly #isEven: boolean;

  constructor(spec: LatticeSpec) {
    const { levels, scale } = spec.layout;
    invariant(levels.kind === 'grid' && levels.change.kind === 'signs' && scale.sub, 'entries have signs');
    this.#spec = spec;
    this.#entries = new FieldPacker(levels.entry, ELEMENTS, levels.width);
    this.#signs = new FieldPacker(levels.change.signs, ELEMENTS, 8);
    this.#scales = new FieldPacker(scale.sub.number, ELEMENTS, spec.group);
    this.#isEven = levels.change.even;
  }

  /** Encodes a block; its f16 scale is in its first bytes. */
  encode(source: BlockSource, bytes: DataView, at: number): void {
    const { group, blockBytes, correction, lattice } = this.#spec;
    const scales = new Float32Array(ELEMENTS / group);
    const entries = new Uint16Array(ELEMENTS / lattice.width);
    const signs = new Uint8Array(ELEMENTS / 8);
    const variance = this.#spec.varianceFactor * meanSquareOf(source.values, source.from, ELEMENTS);
    for (let i = 0; i < scales.length; i++) {
      const magnitudes = this.#magnitudesOf(source, i * group, variance);
      const fit = this.#fit(magnitudes);
      if (!fit) continue;
      scales[i] = Math.abs(fit.scale);
      entries.set(fit.entries, (i * group) / lattice.width);
      signs.set(fit.scale < 0 ? magnitudes.signs.map((bits) => ~bits) : magnitudes.signs, (i * group) / 8);
    }
    clear(bytes, at, blockBytes);
    const largest = Math.max(...scales);
    if (largest === 0) return;
    const d = fround(largest / 31);
    const inverse = fround(1 / d);
    bytes.setUint16(at, floatToHalf(fround(d * fround(correction))), true);
    this.#entries.write(bytes, at, entries);
    this.#signs.write(bytes, at, signs);
    const numbers = Array.from(scales, (scale) =>
      nearestWithin(fround(0.5 * fround(fround(inverse * scale) - 1)), 0, 15),
    );
    this.#scales.write(bytes, at, numbers);
  }

  /** The elements of a group without their signs: where an odd number is negative, the least of them keeps its sign. */
  #magnitudesOf(source: BlockSource, offset: number, variance: number): Magnitudes {
    const { group, otherwise } = this.#spec;
    const weights = new Float32Array(group);
    const { from } = groupOf(source, offset, weights, variance, (value) => otherwise(value, variance));
    const values = source.values.slice(from, from + group);
    const signs = new Uint8Array(group / 8);
    for (let run = 0; run < signs.length; run++) {
      let bits = 0;
      for (let i = 0; i < 8; i++) if (!((values[8 * run + i] as number) >= 0)) bits |= 1 << i;
      if (this.#isEven && isOdd(bits)) bits ^= 1 << leastOf(values, weights, 8 * run);
      for (let i = 0; i < 8; i++) {
        if ((bits >> i) & 1) values[8 * run + i] = -(values[8 * run + i] as number);
      }
      signs[run] = bits;
    }
    return { values, weights, roots: weights.map((weight) => Math.sqrt(weight)), signs };
  }

  /** The scale and the entries of a group; undefined for zeros. */
  #fit(magnitudes: Magnitudes): { readonly scale: number; readonly entries: Uint16Array } | undefined {
    const { tiny, candidates, step, again, lattice, fitsFirst } = this.#spec;
    const top = lattice.width === 8 ? 5 : 15;
    const { values, weights } = magnitudes;
    const largest = Math.max(...values);
    if (largest === 0 || largest < fround(tiny)) return undefined;
    const most = fitsFirst
      ? fround(
          fitUnsigned({ values, weights, from: 0, count: values.length }, 4, fitsFirst === 'bytes').scale * 3,
        )
      : largest;
    if (most <= 0) return undefined;
    let scale = fround(most / (fitsFirst ? 3 : top));
    let best = 0;
    let found: Rounded | undefined;
    for (let i = -candidates; i <= candidates; i++) {
      const inverse = fround(fround(top + fround(i * fround(step))) / most);
      const rounded = this.#round(magnitudes, inverse, fround(1 / inverse));
      const { products, squares } = sumsOf(magnitudes, rounded.entries, lattice);
      if (!(squares > 0 && fround(products * products) > fround(best * squares))) continue;
      scale = fround(products / squares);
      best = fround(scale * products);
      found = rounded;
    }
    if (!found) return { scale, entries: new Uint16Array(values.length / lattice.width) };
    if (scale > 0 && (again === 'all' || found.off.includes(1))) {
      const second = this.#round(magnitudes, fround(1 / scale), scale);
      const entries =
        again === 'off'
          ? second.entries.map((e, i) => (found?.off[i] ? e : (found?.entries[i] ?? 0)))
          : second.entries;
      const { products, squares } = sumsOf(magnitudes, entries, lattice);
      return { scale: squares > 0 ? fround(products / squares) : scale, entries };
    }
    return { scale, entries: found.entries };
  }

  /** The entries of a group with a scale. */
  #round({ values, roots }: Magnitudes, inverse: number, scale: number): Rounded {
    const { lattice } = this.#spec;
    const { width } = lattice;
    const bits = width === 8 ? 2 : 3;
    const entries = new Uint16Array(values.length / width);
    const off = new Uint8Array(entries.length);
    for (let run = 0; run < entries.length; run++) {
      let combination = 0;
      for (let i = 0; i < width; i++) {
        const value = values[run * width + i] as number;
        const rank = nearestWithin(fround(0.5 * fround(fround(inverse * value) - 1)), 0, width === 8 ? 2 : 7);
        combination |= rank << (bits * i);
      }
      let entry = lattice.entryAt(combination);
      if (entry < 0) {
        off[run] = 1;
        const around = { values, weights: roots, from: run * width };
        entry = nearestNeighbour(lattice, combination, around, scale, ODD);
      }
      entries[run] = entry;
    }
    return { entries, off };
  }
}

/** Encodes a block with each encoder and keeps the one of the smallest error, weighed by importance. */
export function encodeBest(
  encoders: readonly LatticeEncoder[],
  format: TensorFormat,
  { source, bytes, at }: { readonly source: BlockSource; readonly bytes: DataView; readonly at: number },
): void {
  const { values, importance, from } = source;
  const found = new Uint8Array(format.blockBytes);
  const decoded = new Float32Array(format.blockElements);
  let best = Number.POSITIVE_INFINITY;
  for (const encoder of encoders) {
    encoder.encode(source, new DataView(found.buffer), 0);
    format.decode(found, 0, decoded, 0, 1);
    let error = 0;
    for (const [i, value] of decoded.entries()) {
      error += (importance?.[from + i] ?? 1) * (value - (values[from + i] as number)) ** 2;
    }
    if (!(error < best)) continue;
    best = error;
    new Uint8Array(bytes.buffer, bytes.byteOffset + at, found.length).set(found);
  }
}

/** What ranks stand for. */
const ODD = [1, 3, 5, 7, 9, 11, 13, 15];

interface Magnitudes {
  readonly values: Float32Array;
  readonly weights: Float32Array;
  /** Square roots of the weights: by these neighbours are compared. */
  readonly roots: Float32Array;
  /** A bit for each element of a run of eight. */
  readonly signs: Uint8Array;
}

interface Rounded {
  readonly entries: Uint16Array;
  /** 1 for the runs whose rounded values are no entry. */
  readonly off: Uint8Array;
}

function sumsOf({ values, weights }: Magnitudes, entries: Uint16Array, { ranks, width }: Lattice) {
  let products = 0;
  let squares = 0;
  for (let i = 0; i < values.length; i++) {
    const entry = entries[Math.floor(i / width)] as number;
    const level = 2 * (ranks[entry * width + (i % width)] as number) + 1;
    const weight = weights[i] as number;
    products = fround(products + fround(fround(weight * (values[i] as number)) * level));
    squares = fround(squares + fround(fround(weight * level) * level));
  }
  return { products, squares };
}

function isOdd(bits: number): boolean {
  let parity = bits ^ (bits >> 4);
  parity ^= parity >> 2;
  return ((parity ^ (parity >> 1)) & 1) === 1;
}

/** The element of a run of eight that matters least. */
function leastOf(values: Float32Array, weights: Float32Array, from: number): number {
  let least = 0;
  let smallest = Number.POSITIVE_INFINITY;
  for (let i = 0; i < 8; i++) {
    const value = values[from + i] as number;
    const matter = fround(fround((weights[from + i] as number) * value) * value);
    if (matter < smallest) {
      smallest = matter;
      least = i;
    }
  }
  return least;
}
