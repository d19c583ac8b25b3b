import { throwIfAborted } from '../../base/errors.ts';
import { seededRandom } from '../../base/seeded-random.ts';
import { I32 } from '../../formats/index.ts';
import type { GgufWriter, PlacedTensor } from '../../gguf/index.ts';

/** Options of a file of random weights. */
export interface RandomWeightsOptions {
  /** The same seed gives the same bytes. */
  readonly seed: number;
  readonly onProgress?: ((written: number, total: number) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Large enough that nearby rows differ, small enough to be created instantly. */
const TILE_BYTES = 4 << 20;

/** The spread of a norm's factors around 1. */
const NORM_SPREAD = 0.05;

/** The spread of biases around 0. */
const BIAS_SPREAD = 0.2;

/** The spread of decay rates around -1; negative rates keep states from growing. */
const RATE_SPREAD = 0.5;

/** The spread of weight scales around 1: wide enough that ignoring them is noticed. */
const SCALE_SPREAD = 0.5;

/**
 * Writes every tensor of a plan with random weights, at the speed of the sink: a matrix consists of pieces, at random
 * offsets, of one random tile of its format. Its weights have a standard deviation of `1 / sqrt(columns)`, so that
 * products preserve magnitudes; a vector is either a bias, around 0, or a norm's factors, around 1. Rejects with
 * `ABORTED` or the sink's error.
 */
export async function writeRandomWeights(writer: GgufWriter, options: RandomWeightsOptions): Promise<void> {
  const random = seededRandom(options.seed);
  const { byteLength, tensors } = writer.layout;
  const largest = tensors.reduce((most, tensor) => Math.max(most, tensor.byteLength), 0);
  const tiles = new RandomTiles(random, Math.min(TILE_BYTES, largest));
  for (let tensor = writer.next; tensor; tensor = writer.next) {
    const pieces = isVector(tensor)
      ? [vectorOf(tensor, random)]
      : tensor.format === I32
        ? [choicesOf(tensor, expertsBeside(tensor, tensors), random)]
        : tiles.piecesFor(tensor);
    let written = tensor.offset;
    for (const piece of pieces) {
      throwIfAborted(options.signal, 'writing the model');
      await writer.write(piece);
      written += piece.byteLength;
      options.onProgress?.(written, byteLength);
    }
  }
  writer.end();
}

/** Rates and skips by head and norms by group are vectors that files store with two dimensions. */
function isVector({ name, shape }: PlacedTensor): boolean {
  return shape.length === 1 || /\.(ssm_a|ssm_d|ssm_norm\.weight)$/.test(name);
}

/** The mean and spread of a vector's values. */
function rangeOf(name: string): readonly [mean: number, spread: number] {
  if (name.endsWith('.bias')) return [0, BIAS_SPREAD];
  if (name.endsWith('.ssm_a')) return [-1, RATE_SPREAD];
  return [1, name.endsWith('.scale') ? SCALE_SPREAD : NORM_SPREAD];
}

function vectorOf({ name, shape }: PlacedTensor, random: () => number): Uint8Array {
  const [mean, spread] = rangeOf(name);
  const length = shape.reduce((product, size) => product * size, 1);
  const values = Float32Array.from({ length }, () => mean + spread * (2 * random() - 1));
  return new Uint8Array(values.buffer);
}

/** The number of experts of the layer that lists experts for tokens. */
function expertsBeside({ name, shape }: PlacedTensor, tensors: readonly PlacedTensor[]): number {
  const router = name.replace('ffn_gate_tid2eid', 'ffn_gate_inp');
  return tensors.find((tensor) => tensor.name === router)?.shape[1] ?? shape[0] ?? 1;
}

/** Different experts in each row. */
function choicesOf({ shape }: PlacedTensor, experts: number, random: () => number): Uint8Array {
  const [columns = 1, rows = 1] = shape;
  const values = new Int32Array(columns * rows);
  for (let row = 0; row < rows; row++) {
    const first = Math.floor(random() * experts);
    for (let i = 0; i < columns; i++) values[row * columns + i] = (first + i) % experts;
  }
  return new Uint8Array(values.buffer);
}

/** A tile of random blocks for each format and row length. */
class RandomTiles {
  readonly #tiles = new Map<string, Uint8Array>();

  constructor(
    readonly random: () => number,
    readonly byteLength: number,
  ) {}

  /** Pieces of the tensor's tile with the tensor's total length. */
  *piecesFor(tensor: PlacedTensor): Generator<Uint8Array, void> {
    const tile = this.#tileOf(tensor);
    const { blockBytes } = tensor.format;
    const blocks = tile.byteLength / blockBytes;
    for (let left = tensor.byteLength; left > 0;) {
      // At least half a tile at once: small writes would be slower than the disk.
      const from = Math.floor((this.random() * blocks) / 2) * blockBytes;
      const piece = tile.subarray(from, from + Math.min(left, tile.byteLength - from));
      yield piece;
      left -= piece.byteLength;
    }
  }

  #tileOf({ format, shape }: PlacedTensor): Uint8Array {
    const columns = shape[0] ?? 1;
    const key = `${format.name} ${columns}`;
    const known = this.#tiles.get(key);
    if (known) return known;
    const blocks = Math.max(1, Math.floor(this.byteLength / format.blockBytes));
    const tile = new Uint8Array(blocks * format.blockBytes);
    format.fillRandom(tile, this.random, 1 / Math.sqrt(columns));
    this.#tiles.set(key, tile);
    return tile;
  }
}
