import { concat } from '../../ops/concat.ts';
import { gatherRows } from '../../ops/rows.ts';
import { slice } from '../../ops/slice.ts';
import type { Tensor } from '../../ops/value.ts';
import type { LayerContext } from '../blocks/block.ts';
import { readHeadStreams } from '../blocks/hyper-connections.ts';
import { linear } from '../blocks/linear.ts';
import { type NamedNorm, normalize } from '../blocks/norm.ts';
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
  // A token is the same in all residual streams.
  const { copies: _, ...embedding } = config.embedding;
  return recordEmbedding(scope, embedding, ids, scope.has(own) ? own : EMBEDDING_TABLE);
}

/** Records what the predictor reads of the last layer's result, f32 [rows, width], or of its residual streams side by side. */
export function recordCarried(scope: PartScope, { predictor, head }: PredictingConfig, x: Tensor): Tensor {
  return predictor.reads === 'normed' ? normalize(scope, x, head.norm) : x;
}

/**
 * Records the predictor's layer, which reads the embedding of the next token beside the result that is carried from the
 * layers, or from its own previous prediction: f32 [rows, carried.width]. Several residual streams are read one by one.
 */
export function recordPredictorLayer(
  scope: PartScope,
  { norm, layer }: BlockPredictor,
  { next, carried }: { readonly next: Tensor; readonly carried: Tensor },
  inputs: LayerContext,
): Tensor {
  const { g } = scope;
  const { width } = next;
  const token = normalize(scope, next, { ...norm, name: 'nextn.enorm' });
  const results = normalize(scope, carried, { ...norm, name: 'nextn.hnorm' }, width);
  const streams = Array.from({ length: carried.width / width }, (_, index) => {
    const result = carried.width === width ? results : slice(g, results, { offset: index * width, width });
    const both = concat(g, token, result, { aPart: width, bPart: width });
    return linear(scope, both, { name: 'nextn.eh_proj', rows: width });
  });
  const entering = streams.reduce((a, b) => concat(g, a, b, { aPart: a.width, bPart: b.width }));
  return recordLayer(scope, layer, entering, inputs);
}

/**
 * Records the predictor's logits for the batch's output rows, by its own norm and matrix if it has them; `hidden` is
 * what it carries on, f32 [rows, predicted.width].
 */
export function recordPredictorHead(
  scope: PartScope,
  config: PredictingConfig,
  predicted: Tensor,
): { readonly hidden: Tensor; readonly logits: Tensor } {
  const { predictor, head } = config;
  const norms = ['nextn.shared_head_norm', 'layer_output_norm'].map((name) => tensorName(config, name));
  const own = norms.find((name) => scope.has(name));
  const norm =
    own === undefined ? head.norm : { ...(predictor.headNorm ?? predictor.norm), name: own, bare: true };
  const { g } = scope;
  const { hidden, rows } = head.hyper
    ? {
        hidden: predicted,
        rows: normalize(scope, readHeadStreams(scope, gatherRows(g, predicted), head.hyper), norm),
      }
    : readOneStream(scope, predictor, { predicted, norm });
  const shared = head.tied !== false && !scope.has('output.weight') ? EMBEDDING_TABLE : 'output.weight';
  const matrix = tensorName(config, 'nextn.shared_head_head');
  const logits = recordLogits(
    scope,
    head,
    scope.has(matrix)
      ? { read: rows, matrix, name: matrix.replace(/\.weight$/, '') }
      : { read: rows, matrix: shared },
  );
  return { hidden, logits };
}

/** What is carried on of one residual stream, and what the logits are computed from. */
function readOneStream(
  scope: PartScope,
  { reads }: BlockPredictor,
  { predicted, norm }: { readonly predicted: Tensor; readonly norm: NamedNorm },
): { readonly hidden: Tensor; readonly rows: Tensor } {
  const read = normalize(scope, predicted, norm);
  return { hidden: reads === 'normed' ? read : predicted, rows: gatherRows(scope.g, read) };
}
