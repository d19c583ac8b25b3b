import { concat } from '../../ops/concat.ts';
import { gatherRows } from '../../ops/rows.ts';
import type { Tensor } from '../../ops/value.ts';
import type { LayerContext } from '../blocks/block.ts';
import { linear } from '../blocks/linear.ts';
import { normalize } from '../blocks/norm.ts';
import { EMBEDDING_TABLE } from '../embedding-place.ts';
import type { BlockPredictor, PredictingConfig as Predicting } from '../model-config.ts';
import type { PartScope } from '../part-scope.ts';
import { type Embedded, recordEmbedding, recordLayer, recordLogits } from './record-stack.ts';

/** A model with a block for multi-token prediction. */
type PredictingConfig = Predicting<BlockPredictor>;

/** The name in the file of one of the predictor's tensors. */
function tensorName({ predictor }: PredictingConfig, name: string): string {
  return `blk.${predictor.index}.${name}.weight`;
}

/** Records the embedding of the next tokens, and what else depends on the rows: by the predictor's table if it has one. */
export function recordNextEmbedding(scope: PartScope, config: PredictingConfig, ids: Tensor): Embedded {
  const own = tensorName(config, 'nextn.embed_tokens');
  return recordEmbedding(scope, config.embedding, ids, scope.has(own) ? own : EMBEDDING_TABLE);
}

/** Records what the predictor reads of the last layer's result, f32 [rows, width]. */
export function recordCarried(scope: PartScope, { predictor, head }: PredictingConfig, x: Tensor): Tensor {
  return predictor.reads === 'normed' ? normalize(scope, x, head.norm) : x;
}

/**
 * Records the predictor's layer, which reads the embedding of the next token beside the result that is carried from the
 * layers, or from its own previous prediction: f32 [rows, width].
 */
export function recordPredictorLayer(
  scope: PartScope,
  { norm, layer }: BlockPredictor,
  { next, carried }: { readonly next: Tensor; readonly carried: Tensor },
  inputs: LayerContext,
): Tensor {
  const { width } = next;
  const token = normalize(scope, next, { ...norm, name: 'nextn.enorm' });
  const result = normalize(scope, carried, { ...norm, name: 'nextn.hnorm' });
  const both = concat(scope.g, token, result, { aPart: width, bPart: width });
  return recordLayer(scope, layer, linear(scope, both, { name: 'nextn.eh_proj', rows: width }), inputs);
}

/**
 * Records the predictor's logits for the batch's output rows, by its own norm and matrix if it has them; `hidden` is
 * what it carries on, f32 [rows, width].
 */
export function recordPredictorHead(
  scope: PartScope,
  config: PredictingConfig,
  predicted: Tensor,
): { readonly hidden: Tensor; readonly logits: Tensor } {
  const { predictor, head } = config;
  const norms = ['nextn.shared_head_norm', 'layer_output_norm'].map((name) => tensorName(config, name));
  const own = norms.find((name) => scope.has(name));
  const norm = own === undefined ? head.norm : { ...predictor.norm, name: own, bare: true };
  const read = normalize(scope, predicted, norm);
  const shared = head.tied !== false && !scope.has('output.weight') ? EMBEDDING_TABLE : 'output.weight';
  const matrix = tensorName(config, 'nextn.shared_head_head');
  const rows = gatherRows(scope.g, read);
  const logits = recordLogits(
    scope,
    head,
    scope.has(matrix)
      ? { read: rows, matrix, name: matrix.replace(/\.weight$/, '') }
      : { read: rows, matrix: shared },
  );
  return { hidden: predictor.reads === 'normed' ? read : predicted, logits };
}
