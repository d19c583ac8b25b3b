import type { ActivationForm, Epilogue } from '../../../device/index.ts';
import type { Weight } from '../../../ops/index.ts';
import { activationCode } from './elementwise.ts';
import type { Operand } from './launch-plan.ts';
import { NULL } from './launch-template.ts';
import type { Lowering } from './lowering.ts';
import { FLOAT_LAYOUT } from './weight-layout.ts';

/** Number of outputs of a product: those of one part if gate and up are two. */
export function outputsOf(weights: readonly Weight[], { kind }: Epilogue): number {
  return weights.reduce((sum, { rows }) => sum + rows, 0) / (kind === 'gated' ? 2 : 1);
}

/** What is added to a product's sums: biases, or another tensor. */
export function addendOf(epilogue: Epilogue, to: Lowering): Operand {
  if (epilogue.kind === 'residual') return epilogue.addend;
  if (epilogue.kind === 'gated') return NULL;
  const { biases } = epilogue.kind === 'store' ? epilogue : epilogue.of;
  return biases.length > 0 ? to.weight(biases, FLOAT_LAYOUT) : NULL;
}

/** The definitions of `product.hip` and `finish-product.hip` for the use of the sums. */
export function productDefines(
  epilogue: Epilogue,
): Readonly<Record<'OUTPUT' | 'ACTIVATION', number>> & ReturnType<typeof halfDefines> {
  if (epilogue.kind !== 'gated') return { OUTPUT: epilogue.kind === 'residual' ? 1 : 0, ACTIVATION: 0 };
  const { fn, form } = epilogue;
  return { OUTPUT: form === 'f32' ? 3 : 2, ACTIVATION: activationCode(fn), ...halfDefines(form) };
}

/** The definition of `halves.h` for the form of a result. */
export function halfDefines(form: ActivationForm): { readonly CORE_MATRICES?: 1 } {
  return form === 'core-matrices' ? { CORE_MATRICES: 1 } : {};
}
