import type { HipCudaTarget } from '../launching/kernel-set.ts';
import { CODEBOOK_BYTES } from './staging.ts';

/** The outputs and rows that a wave computes. */
interface Tile {
  readonly outputs: number;
  readonly rows: number;
}

/** What a product by packed weights is: rows, lines of weights (gates and ups are two), and chunks of k, which blocks may divide. */
export interface ProductSize {
  readonly rows: number;
  readonly lines: number;
  /** Whether waves of few rows have registers for one chunk of the weights more. */
  readonly small: boolean;
  /** Whether weights are decoded so fast that blocks may copy activations for each wave. */
  readonly quick: boolean;
  readonly chunks: number;
  readonly gated: boolean;
  readonly divides: boolean;
}

/** How `product.hip` divides a product among blocks and waves. */
export interface ProductGeometry {
  readonly tile: Tile;
  readonly waves: number;
  /** Waves of a block that share activations. */
  readonly share: number;
  /** Chunks of weights on their way to a wave. */
  readonly depth: number;
  /** Blocks that registers of a multiprocessor are set aside for. */
  readonly resident: number;
  /** Blocks that divide k. */
  readonly splits: number;
}

/** Tiles from few rows to many; NVIDIA's matrix cores also have products of eight columns. */
const TILES: readonly Tile[] = [
  { outputs: 32, rows: 8 },
  { outputs: 32, rows: 16 },
  { outputs: 32, rows: 32 },
  { outputs: 32, rows: 64 },
];
/** Outputs of a tile, and of a wider one of few rows. */
const OUTPUTS = 32;
const WIDE_OUTPUTS = 48;
/** Rows up to which the sums leave registers for sixteen waves, and from which on reading activations takes as long as reading weights. */
const FEW_ROWS = 16;
/** Chunks of activations on their way, in a ring with one more. */
export const AHEAD = 1;
/** Bytes of a row in a chunk of k. */
const CHUNK_BYTES = 256;

/**
 * Waves of a block: many divide k if there are few blocks, not so many of sixteen rows, which take more registers; otherwise several blocks
 * keep a multiprocessor busy.
 */
const MOST_WAVES = 16;
const ROOMY_WAVES = 12;
const MANY_WAVES = 8;
const FEW_WAVES = 4;

/** Most waves that share activations, most blocks that divide k, and the fewest chunks of k that each of these has. */
const MOST_SHARED = 4;
const LEAST_SHARED = 2;
const MOST_SPLITS = 4;
const LEAST_CHUNKS = 8;
/** The part of the blocks that run at once that is enough to keep all multiprocessors as busy. */
const FULL_ROUND = 0.9;
/** Waves of a block that share activations and are alone on their multiprocessor, by rows. */
const SHARING_WAVES: Readonly<Record<number, number>> = { 16: 16, 32: 12, 64: 8 };

/** Bytes that a multiprocessor reads of a chunk of a line of weights, about, and in the time that adding up divided sums takes. */
const LINE_BYTES = 72;
const FINISH_BYTES = 59_000;

/**
 * Shared memory for the waves' sums and, before these, the ring of activations of waves that share them, if copies overlap with the
 * computation.
 */
export function sharedBytes(
  { tile: { outputs, rows }, waves, share }: Pick<ProductGeometry, 'tile' | 'waves' | 'share'>,
  { vendor }: HipCudaTarget,
): number {
  const ring = vendor === 'nvidia' ? (AHEAD + 1) * rows * CHUNK_BYTES : 0;
  return (waves / share) * Math.max(ring, share * 4 * rows * (outputs + 4));
}

/** Shared memory besides: a codebook's copy, and what few rows' sums are added to. */
function ownBytes(
  { tile: { outputs, rows }, share }: Pick<ProductGeometry, 'tile' | 'share'>,
  { vendor }: HipCudaTarget,
): number {
  return CODEBOOK_BYTES + (vendor === 'nvidia' && rows <= FEW_ROWS ? 4 * rows * share * outputs : 0);
}

/** The division of a product on a target. */
export function productGeometry(of: ProductSize, target: HipCudaTarget): ProductGeometry {
  const tile = tileFor(of, target);
  if (target.vendor !== 'nvidia') return apart(tile, of, target);
  const tiles = Math.ceil(of.lines / OUTPUTS);
  const isMany = tiles >= 2 * target.multiprocessors;
  if (tile.rows < FEW_ROWS || (tile.rows === FEW_ROWS && !isMany)) return apart(tile, of, target);
  const geometry = isMany ? sharedByMany(tile, { tiles, ...of }, target) : divided(tile, of, target);
  return fitted(geometry, target);
}

function tileFor({ rows }: ProductSize, target: HipCudaTarget): Tile {
  const fitting = TILES.filter((tile) => {
    const least = { tile, waves: MANY_WAVES, share: target.vendor === 'nvidia' ? MOST_SHARED : 1 };
    const bytes = sharedBytes(least, target) + ownBytes(least, target);
    return bytes <= target.sharedBytesOptIn && (tile.rows >= FEW_ROWS || target.vendor === 'nvidia');
  });
  return fitting.find((tile) => tile.rows >= rows) ?? (fitting.at(-1) as Tile);
}

/** Waves that share nothing. */
function apart(
  tile: Tile,
  { rows, lines, small, gated }: ProductSize,
  target: HipCudaTarget,
): ProductGeometry {
  const { vendor, multiprocessors } = target;
  const isNvidia = vendor === 'nvidia';
  // With more outputs where each multiprocessor then has one block and would else have one or two.
  const isWide =
    isNvidia && !gated && lines > OUTPUTS * multiprocessors && lines <= WIDE_OUTPUTS * multiprocessors;
  const own = isWide ? { ...tile, outputs: WIDE_OUTPUTS } : tile;
  const blocks = Math.ceil(lines / own.outputs) * Math.ceil(rows / own.rows);
  const many = blocks < 2 * multiprocessors ? MANY_WAVES : FEW_WAVES;
  // Of sixteen rows, fewer waves have registers for one chunk more.
  const isRoomy = isNvidia && own.rows === FEW_ROWS && !isWide && blocks <= multiprocessors;
  const most = isRoomy ? (small ? MANY_WAVES : ROOMY_WAVES) : MOST_WAVES;
  const waves = isNvidia && blocks <= multiprocessors ? most : many;
  const usual = waves > FEW_WAVES ? 1 : 2;
  const isDeep = small && (isRoomy || (gated && waves === FEW_WAVES));
  // Registers have room for no more of wide tiles.
  const depth = isWide ? 1 : 2;
  return fitted(
    {
      tile: own,
      waves,
      share: 1,
      depth: isNvidia ? depth + (isDeep ? 1 : 0) : 1,
      resident: isNvidia && !isRoomy ? Math.floor(MOST_WAVES / waves) : usual,
      splits: 1,
    },
    target,
  );
}

/**
 * Waves that share activations of more rows, where there are blocks for all multiprocessors: so many that all blocks run at once, and that
 * the multiprocessor with most lines has few; of very many lines as many as can.
 */
function sharedByMany(
  tile: Tile,
  { tiles, quick, gated }: Pick<ProductSize, 'quick' | 'gated'> & { readonly tiles: number },
  { multiprocessors }: HipCudaTarget,
): ProductGeometry {
  const blocksWith = (share: number) => Math.ceil(Math.ceil(tiles / share) / multiprocessors);
  const mostLines = (share: number) => share * blocksWith(share);
  const candidates = [4, 3, 2].filter((count) => blocksWith(count) <= 2);
  const best = candidates.sort((a, b) => mostLines(a) - mostLines(b))[0];
  if (best === undefined && tile.rows === FEW_ROWS)
    return { tile, waves: FEW_WAVES, share: 1, depth: 1, resident: 4, splits: 1 };
  const share = best ?? MOST_SHARED;
  // Blocks of which a part of the multiprocessors have one less are the smallest instead.
  const isUneven = Math.ceil(tiles / share) < FULL_ROUND * blocksWith(share) * multiprocessors;
  if (quick && gated && tile.rows === FEW_ROWS && share > LEAST_SHARED && isUneven)
    return { tile, waves: FEW_WAVES, share: 1, depth: 2, resident: 4, splits: 1 };
  const resident = tile.rows > 2 * FEW_ROWS ? 1 : Math.min(2, blocksWith(share));
  const most = resident > 1 ? MANY_WAVES : (SHARING_WAVES[tile.rows] as number);
  const waves = share * Math.max(1, Math.floor(most / share));
  // Registers that two blocks have have room for no more.
  const depth = resident > 1 && tile.rows > FEW_ROWS ? 1 : 2;
  return { tile, waves, share, depth, resident, splits: 1 };
}

/** One block for each multiprocessor, whose waves share activations, with a part of k if that makes it read least. */
function divided(
  tile: Tile,
  { rows, lines, chunks, divides }: ProductSize,
  { multiprocessors }: HipCudaTarget,
): ProductGeometry {
  const tiles = Math.ceil(lines / OUTPUTS);
  const down = Math.ceil(rows / tile.rows);
  let best = { share: MOST_SHARED, splits: 1, bytes: Number.POSITIVE_INFINITY };
  for (let share = tile.rows > 2 * FEW_ROWS ? 2 : 1; share <= MOST_SHARED; share++) {
    for (let splits = 1; splits <= (divides ? MOST_SPLITS : 1); splits++) {
      const blocks = Math.ceil(tiles / share) * splits * down;
      if (splits > 1 && (blocks > multiprocessors || chunks < splits * LEAST_CHUNKS)) continue;
      const own = Math.ceil(chunks / splits) * Math.ceil(blocks / multiprocessors);
      const read = own * (tile.rows * CHUNK_BYTES + share * OUTPUTS * LINE_BYTES);
      const bytes = read + (splits > 1 ? FINISH_BYTES : 0);
      if (bytes < best.bytes) best = { share, splits, bytes };
    }
  }
  const { share, splits } = best;
  const most = share === 1 ? MANY_WAVES : (SHARING_WAVES[tile.rows] as number);
  return { tile, waves: share * Math.floor(most / share), share, depth: 2, resident: 1, splits };
}

/** With fewer waves, where shared memory has no room for so many. */
function fitted(of: ProductGeometry, target: HipCudaTarget): ProductGeometry {
  let { waves } = of;
  const fits = () => sharedBytes({ ...of, waves }, target) + ownBytes(of, target) <= target.sharedBytesOptIn;
  while (waves > of.share && !fits()) waves -= of.share;
  return { ...of, waves };
}
