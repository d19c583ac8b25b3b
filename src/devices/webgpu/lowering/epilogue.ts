import type { Epilogue, GatedEpilogue, HeadGroup } from '../../../device/index.ts';
import type { MatmulExpertsOp, Tensor, Weight } from '../../../ops/index.ts';
import {
  ADDENDS,
  EXPERT_OF,
  FLOATS_EPILOGUE,
  HEADS_EPILOGUE,
  gatedQuantizedEpilogueText,
  gatedEpilogueText,
  GATED_RESULT,
  HEAD_ROWS_BY_HALVES,
  HEAD_ROWS_IN_ORDER,
  PART_BIASES,
} from '../kernels/epilogue.ts';
import { FUNCTIONS, gatedText } from '../kernels/library/functions.ts';
import { QUANTIZE_TEAM } from '../kernels/library/quantize.ts';
import { ROWS_IN_ORDER } from '../kernels/matvec.ts';
import { cacheUnit } from './attention.ts';
import { headArguments, headConstants } from './heads.ts';
import { type Argument, read, write } from './launch-plan.ts';
import type { Lowering } from './lowering.ts';
import type { KernelPart } from './product-input.ts';
import { quantizedScalesAt } from './staging.ts';
import type { WeightChunk } from './webgpu-weight.ts';
import { FLOAT_LAYOUT } from './weight-layout.ts';

/** Number of outputs of a product: those of one part if gate and up are two. */
export function outputsOf(weights: readonly Weight[], { kind }: Epilogue): number {
  return weights.reduce((sum, { rows }) => sum + rows, 0) / (kind === 'gated' ? 2 : 1);
}

/** What is added to a product's sums, as an argument and a text. */
export interface Added {
  readonly kind: keyof typeof ADDENDS;
  readonly args: { readonly addend?: Argument };
}

/** The biases or the tensor that an epilogue adds. */
export function addedBy(epilogue: Epilogue, to: Lowering): Added {
  if (epilogue.kind === 'residual') return { kind: 'residual', args: { addend: read(epilogue.addend) } };
  if (epilogue.kind === 'gated') return { kind: 'none', args: {} };
  const { biases } = epilogue.kind === 'store' ? epilogue : epilogue.of;
  if (biases.length === 0) return { kind: 'none', args: {} };
  return { kind: 'bias', args: { addend: to.vectors(biases, FLOAT_LAYOUT) } };
}

/** How matrix-vector kernels finish the sums of a chunk's rows: `finish` and `row_of`. */
export function epilogueParts(
  epilogue: Epilogue,
  of: { readonly rows: number; readonly outputs: number },
  to: Lowering,
): (chunk: WeightChunk) => KernelPart {
  if (epilogue.kind === 'gated') {
    const epiloguePart = gatedEpilogue({ ...epilogue, ...of, routingWeights: undefined, biases: NO_BIASES });
    return () => epiloguePart;
  }
  if (epilogue.kind === 'heads') {
    const epiloguePart = headsEpilogue(epilogue.of, addedBy(epilogue, to), to);
    return () => epiloguePart;
  }
  const { kind, args } = addedBy(epilogue, to);
  return (chunk) => ({
    args: { ...args, y: write(epilogue.y) },
    texts: [FLOATS_EPILOGUE, ADDENDS[kind], ROWS_IN_ORDER],
    constants: { WIDTH: of.outputs, FIRST_ROW: chunk.firstRow },
  });
}

/** The biases of gate and up, or of experts: their arguments and texts. */
export type BiasPart = Pick<KernelPart, 'args' | 'texts'>;

/** No biases. */
export const NO_BIASES: BiasPart = { args: {}, texts: [PART_BIASES.none] };

/** The biases of products with experts' weights, of one or of gate and up. */
export function expertBiases(
  products: readonly MatmulExpertsOp[],
  of: keyof typeof EXPERT_OF,
  to: Lowering,
): BiasPart {
  const biases = products.flatMap(({ bias }) => bias ?? []);
  if (biases.length === 0) return NO_BIASES;
  return {
    args: { bias: to.vectors(biases, FLOAT_LAYOUT) },
    texts: [PART_BIASES.expert, EXPERT_OF[of]],
  };
}

/** The product of gate and up; `routingWeights` are factors of the rows, if given. */
export function gatedEpilogue(
  of: Pick<GatedEpilogue, 'fn' | 'y' | 'form'> & {
    readonly rows: number;
    readonly outputs: number;
    readonly routingWeights: Tensor | undefined;
    readonly biases: BiasPart;
  },
): KernelPart {
  const { fn, y, form, rows, outputs, routingWeights, biases } = of;
  const quantized = form === 'q8';
  const weighted = routingWeights !== undefined;
  return {
    args: {
      ...(routingWeights ? { routing_weights: read(routingWeights) } : {}),
      ...biases.args,
      y: quantized ? write(y, 'array<u32>') : write(y),
    },
    texts: [
      ROWS_IN_ORDER,
      FUNCTIONS,
      gatedText(fn),
      GATED_RESULT,
      ...biases.texts,
      ...(quantized
        ? [gatedQuantizedEpilogueText({ weighted }), QUANTIZE_TEAM]
        : [gatedEpilogueText({ weighted })]),
    ],
    constants: { WIDTH: outputs, Y_SCALES_AT: quantizedScalesAt(rows, outputs) },
  };
}

function headsEpilogue(of: HeadGroup, { kind, args }: Added, to: Lowering): KernelPart {
  const { append, rotation } = of.heads;
  cacheUnit(append.cache);
  const bound = headArguments(of, to);
  return {
    args: { ...args, ...bound.args },
    texts: [
      HEADS_EPILOGUE,
      ADDENDS[kind],
      rotation?.pairs === 'neox' ? HEAD_ROWS_BY_HALVES : HEAD_ROWS_IN_ORDER,
      ...bound.texts,
    ],
    constants: { ...headConstants(of), ...bound.constants },
  };
}
