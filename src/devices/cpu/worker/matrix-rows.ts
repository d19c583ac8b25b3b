/**
 * Which parts of rows are products with which matrix. A part is a number: the row times the parts of a row, plus the part's index
 * in the row.
 */
export interface MatrixRows {
  /** Number of matrices. Parts of none of them are those of one more, the last. */
  readonly matrices: number;
  /** Parts of a row. */
  readonly parts: number;
  /** Looks at the choices for `rows` rows. */
  look(rows: number): void;
  /** Number of parts that a matrix computes. */
  countOf(matrix: number): number;
  /** The part with this index among those of a matrix, in the order of rows. */
  partOf(matrix: number, index: number): number;
}

/** Matrices that are chosen for each row: `chosen` holds a number for each part. */
export class ChosenMatrices implements MatrixRows {
  readonly #chosen: Int32Array;
  /** Where each matrix's parts start in `#ordered`, and where the last ones end. */
  readonly #starts: Int32Array;
  readonly #ordered: Int32Array;

  constructor(
    chosen: Int32Array,
    readonly parts: number,
    readonly matrices: number,
  ) {
    this.#chosen = chosen;
    this.#starts = new Int32Array(matrices + 2);
    this.#ordered = new Int32Array(chosen.length);
  }

  look(rows: number): void {
    const starts = this.#starts.fill(0);
    const count = rows * this.parts;
    const move = (place: number, by: number): number => {
      const start = starts[place] as number;
      starts[place] = start + by;
      return start;
    };
    for (let part = 0; part < count; part++) move(this.#matrixOf(part) + 1, 1);
    for (let matrix = 0; matrix <= this.matrices; matrix++) move(matrix + 1, starts[matrix] as number);
    for (let part = 0; part < count; part++) this.#ordered[move(this.#matrixOf(part), 1)] = part;
    // Each start has moved to its end, which is the next one's start.
    starts.copyWithin(1, 0);
    starts[0] = 0;
  }

  countOf(matrix: number): number {
    return (this.#starts[matrix + 1] as number) - (this.#starts[matrix] as number);
  }

  partOf(matrix: number, index: number): number {
    return this.#ordered[(this.#starts[matrix] as number) + index] as number;
  }

  #matrixOf(part: number): number {
    const matrix = this.#chosen[part] as number;
    return matrix >= 0 && matrix < this.matrices ? matrix : this.matrices;
  }
}

/** A matrix for each part of a row, by its index. */
export class OwnMatrices implements MatrixRows {
  readonly matrices: number;
  #rows = 0;

  constructor(readonly parts: number) {
    this.matrices = parts;
  }

  look(rows: number): void {
    this.#rows = rows;
  }

  countOf(matrix: number): number {
    return matrix < this.matrices ? this.#rows : 0;
  }

  partOf(matrix: number, index: number): number {
    return index * this.parts + matrix;
  }
}
