import type { Fuse } from '../../../../device/index.ts';
import type { Lowering } from '../lowering.ts';
import { fuseAttention } from './fuse-attention.ts';
import { fuseCombine, fuseExperts } from './fuse-experts.ts';
import { fuseGated } from './fuse-gated.ts';
import { fuseNormedAttention } from './fuse-normed-attention.ts';
import { fuseNorm } from './fuse-norm.ts';
import { fuseProducts } from './fuse-products.ts';
import { fuseResidual } from './fuse-residual.ts';
import { fuseShift } from './fuse-shift.ts';
import { fuseWkv7 } from './fuse-wkv7.ts';

/** What is launched together, the larger groups first. */
export const FUSES: readonly Fuse<Lowering>[] = [
  fuseAttention,
  fuseNormedAttention,
  fuseExperts,
  fuseCombine,
  fuseGated,
  fuseResidual,
  fuseNorm,
  fuseShift,
  fuseWkv7,
  fuseProducts,
];
