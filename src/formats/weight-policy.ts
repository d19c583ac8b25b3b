import { F16, F32, type TensorFormat } from './index.ts';

/** Every `WeightPolicy`. */
export const WEIGHT_POLICIES = ['blocks', 'f16', 'f32'] as const;

/**
 * The format of matrices on the device: `blocks` keeps the file's, `f16` decodes quantized matrices to f16, `f32`
 * decodes every matrix. Vectors are unchanged.
 */
export type WeightPolicy = (typeof WEIGHT_POLICIES)[number];

/** Formats whose elements are stored separately. */
const FLOATS = new Set(['F64', 'F32', 'F16', 'BF16']);

/** The device format of a weight of `rows` rows that the file stores in `format`. */
export function formatUnder(policy: WeightPolicy, format: TensorFormat, rows: number): TensorFormat {
  if (policy === 'blocks' || rows === 1) return format;
  if (policy === 'f32') return F32;
  return FLOATS.has(format.name) ? format : F16;
}
