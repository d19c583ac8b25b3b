import { formatBytes } from '../base/bytes.ts';
import { fail } from '../base/errors.ts';

/** Where a model's memory goes, in bytes, computed from metadata before anything is allocated. */
export interface FitPlan {
  readonly weights: number;
  /** KV cache and token history for the asked context. */
  readonly cache: number;
  /** Scratch, boundaries between parts, logits, small inputs. */
  readonly scratch: number;
  /** Host memory that the file passes through while it loads. */
  readonly staging: number;
  readonly total: number;
}

/** Sums a plan up. */
export function fitPlan(parts: Omit<FitPlan, 'total'>): FitPlan {
  return { ...parts, total: parts.weights + parts.cache + parts.scratch + parts.staging };
}

/** Throws `MODEL_TOO_LARGE` when the plan does not fit into `free` bytes. */
export function requireFit(plan: FitPlan, free: number): void {
  if (plan.total <= free) return;
  fail('MODEL_TOO_LARGE', {
    needed: formatBytes(plan.total),
    free: formatBytes(free),
    weights: formatBytes(plan.weights),
    cache: formatBytes(plan.cache),
    scratch: formatBytes(plan.scratch),
  });
}
