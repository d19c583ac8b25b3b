import { invariant } from '../../../base/errors.ts';
import type { SplitFacts, SplitProductIntent } from '../../../device/index.ts';
import type { Weight } from '../../../ops/index.ts';
import type { HipCudaTarget } from '../launching/kernel-set.ts';
import { addendOf, outputsOf, productDefines } from './epilogue.ts';
import { int, NULL } from './launch-template.ts';
import type { Lowering } from './lowering.ts';
import { matrixCores } from './matrix-cores.ts';
import { MATVEC_ROWS } from './staging.ts';
import { FILE_LAYOUT } from './weight-layout.ts';

/** Rows of the kernel's tiles, whose halves are the columns of one fragment, two or four. */
const TILE_ROWS = [8, 16, 32];
/** Rows from which matrix cores are faster than the other kernels of few rows, by vendor; of AMD's, it is not known. */
const LEAST_ROWS = { nvidia: 3, amd: MATVEC_ROWS + 1 } as const;
/** Weights that the kernel takes. */
const MAX_WEIGHTS = 3;
/** Lines of weights of a block: two fragments. */
const TILE_LINES = 32;
/** Waves that a multiprocessor should hold: the sums of more rows leave registers for fewer. */
const RESIDENT_WAVES: Readonly<Record<number, number>> = { 8: 16, 16: 8, 32: 8 };
/** Waves of a block: few where there are blocks enough, or where shared memory has room for no more. */
const WAVES = [16, 8];
const LEAST_WAVES = 4;
/** Fragments of activations under way for each wave, where copies overlap with the computation. */
const STAGES = 4;

/** Rows for which cores leave registers enough that hold a fragment in twice as many as others. */
const ROWS_OF_LARGE_FRAGMENTS = 16;
const LARGE_FRAGMENT_WORDS = 16;

/** The products that the kernel computes: with AMD's matrix cores those of f16 only. */
export function splitKernels(target: HipCudaTarget): SplitFacts | undefined {
  const cores = matrixCores(target);
  if (!cores) return undefined;
  const isLarge = cores.fragmentWords >= LARGE_FRAGMENT_WORDS;
  const rows = isLarge ? ROWS_OF_LARGE_FRAGMENTS : (TILE_ROWS.at(-1) as number);
  const types = target.vendor === 'nvidia' ? (['f16', 'bf16'] as const) : (['f16'] as const);
  return { least: LEAST_ROWS[target.vendor], rows, weights: MAX_WEIGHTS, types };
}

/** Multiplies the activations, as two matrices of f16 or bf16, by the weights as stored in the file, which it reads once. */
export function emitSplitProduct({ rows, x, weights, epilogue }: SplitProductIntent, to: Lowering): void {
  const cores = matrixCores(to.target);
  invariant(cores, 'products of both halves are for matrix cores');
  const { vendor, multiprocessors, sharedBytesOptIn } = to.target;
  const [first] = weights as [Weight];
  const tileRows = TILE_ROWS.find((count) => count >= to.capacity(rows)) as number;
  const lines = weights.map((weight) => weight.rows);
  const blocks =
    epilogue.kind === 'gated'
      ? Math.ceil((2 * outputsOf(weights, epilogue)) / TILE_LINES)
      : lines.reduce((sum, count) => sum + Math.ceil(count / TILE_LINES), 0);
  const resident = RESIDENT_WAVES[tileRows] as number;
  // A row is two columns: of the waves' sums and, before these, of the fragments under way.
  const ring = vendor === 'nvidia' ? STAGES * 2 * tileRows * 64 : 0;
  const waveBytes = Math.max(ring, 4 * 2 * tileRows * (TILE_LINES + 4));
  const fits = (count: number) =>
    count <= resident &&
    blocks * count <= multiprocessors * resident &&
    count * waveBytes <= sharedBytesOptIn;
  const waves = WAVES.find(fits) ?? LEAST_WAVES;
  const addresses = weights.map((weight) => to.weight([weight], FILE_LAYOUT));
  const missing = Array.from({ length: MAX_WEIGHTS - weights.length }, () => NULL);
  to.launch({
    file: 'split-product.hip',
    kernel: 'split_product',
    defines: {
      BFLOATS: x.type === 'bf16' ? 1 : 0,
      TILE_ROWS: tileRows,
      WAVES: waves,
      RESIDENT: resident / waves,
      ...productDefines(epilogue),
    },
    grid: [blocks],
    block: waves * cores.lanes,
    sharedBytes: waves * waveBytes,
    args: [
      to.count(rows),
      ...[x.high, x.low, x.scales],
      ...[...addresses, ...missing],
      ...[int(lines[0] ?? 0), int(lines[1] ?? 0)],
      int(outputsOf(weights, epilogue)),
      int(first.columns),
      addendOf(epilogue, to),
      epilogue.y,
    ],
  });
}
