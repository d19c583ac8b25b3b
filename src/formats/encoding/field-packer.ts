import type { BitField, BlockNumber } from '../block-layout.ts';

/** Numbers per piece: which number, its shift to the right, a mask, the byte in the block, the shift to the left. */
const PIECE = 5;

/**
 * Writes the numbers of a block where its layout has them: a number for each `every` elements. The bits of the block
 * must be zero before.
 */
export class FieldPacker {
  readonly #number: BlockNumber;
  readonly #elements: number;
  readonly #every: number;
  /** Made on first use: most programs never encode. */
  #pieces: Uint16Array | undefined;

  constructor(number: BlockNumber, elements: number, every = 1) {
    this.#number = number;
    this.#elements = elements;
    this.#every = every;
  }

  /** Writes `numbers`, in two's complement, into the block at byte `at`. */
  write(bytes: DataView, at: number, numbers: ArrayLike<number>): void {
    this.#pieces ??= this.#cut();
    const pieces = this.#pieces;
    for (let i = 0; i < pieces.length; i += PIECE) {
      const number = numbers[pieces[i] as number] as number;
      const bits = (number >>> (pieces[i + 1] as number)) & (pieces[i + 2] as number);
      const to = at + (pieces[i + 3] as number);
      bytes.setUint8(to, bytes.getUint8(to) | (bits << (pieces[i + 4] as number)));
    }
  }

  #cut(): Uint16Array {
    const pieces: number[] = [];
    for (let index = 0; index < this.#elements / this.#every; index++) {
      const element = index * this.#every;
      let shift = 0;
      for (const field of fieldsAt(this.#number, element)) {
        pieces.push(...piecesOf(field, { index, element, shift }));
        shift += field.bits;
      }
    }
    return Uint16Array.from(pieces);
  }
}

function fieldsAt(number: BlockNumber, element: number): readonly BitField[] {
  if (!('bit' in number)) return number;
  return (element >> number.bit) & 1 ? number.set : number.clear;
}

/** A field of one number, cut at the bounds of bytes. */
function piecesOf(
  field: BitField,
  { index, element, shift }: { readonly index: number; readonly element: number; readonly shift: number },
): number[] {
  const pieces: number[] = [];
  let position = field.steps.reduce((sum, step, bit) => sum + ((element >> bit) & 1) * step, field.at);
  let done = 0;
  while (done < field.bits) {
    const bits = Math.min(field.bits - done, 8 - (position & 7));
    pieces.push(index, shift + done, (1 << bits) - 1, position >> 3, position & 7);
    done += bits;
    position += bits;
  }
  return pieces;
}
