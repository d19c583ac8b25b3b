import { invariant } from '../../base/errors.ts';
import { add, mul, scale, unary } from '../../ops/elementwise.ts';
import { embed } from '../../ops/embed.ts';
import { ropeTable } from '../../ops/rope.ts';
import { gatherRows } from '../../ops/rows.ts';
import type { Tensor, Weight } from '../../ops/value.ts';
import { joinStreams, recordAltUp, splitStreams } from '../blocks/altup.ts';
import type { LayerContext } from '../blocks/block.ts';
import { TOKEN_IDS } from '../blocks/experts.ts';
import { type EarlierStreams, readStreams } from '../blocks/earlier-streams.ts';
import {
  copyStreams,
  type HyperConnectionsSpec,
  readHeadStreams,
  throughStreams,
} from '../blocks/hyper-connections.ts';
import { linear, scaledProduct } from '../blocks/linear.ts';
import { type NamedNorm, nameOf, normalize } from '../blocks/norm.ts';
import { PER_LAYER, recordPerLayer } from '../blocks/per-layer-input.ts';
import { EMBEDDING_TABLE } from '../embedding-place.ts';
import type { PartScope } from '../part-scope.ts';
import type {
  ClassifierSpec,
  EmbeddingSpec,
  HeadSpec,
  LayerSpec,
  RowsHead,
  RopeTableSpec,
} from '../model-config.ts';

/**
 * What the embedding part passes on: the residual stream, f32 [rows, width], and values shared by all layers, by name.
 */
export interface Embedded {
  readonly x: Tensor;
  readonly shared: ReadonlyMap<string, Tensor>;
}

/** The name under which the embeddings are shared. */
const EMBEDDED = 'embedded';

/** Records the step from token ids, i32 [rows, 1], to the residual stream, by the model's table or another one. */
export function recordEmbedding(
  scope: PartScope,
  spec: EmbeddingSpec,
  ids: Tensor,
  table = EMBEDDING_TABLE,
): Embedded {
  const { g } = scope;
  let x = scaled(scope, scope.embed(ids, table), spec.scale);
  if (spec.tokenTypes && scope.has('token_types.weight')) {
    const types = g.input('types', { axis: 'rows', width: 1, type: 'i32' });
    const rows = scope.rowsOf('token_types.weight', x.width);
    x = add(g, x, embed(g, scope.weight('token_types.weight', rows, x.width), types));
  }
  const shared = new Map<string, Tensor>();
  if (spec.perLayer) shared.set(PER_LAYER, recordPerLayer(scope, spec.perLayer, { ids, x }));
  for (const [name, table] of Object.entries(spec.ropes ?? {})) {
    shared.set(name, ropeTable(g, table.parameters, ropeFactors(scope, table)));
  }
  if (spec.learnedPositions !== undefined) {
    const table = scope.weight('position_embd.weight', spec.learnedPositions, x.width);
    x = add(g, x, embed(g, table, g.batch.positions));
  }
  x = normed(scope, x, spec.norm);
  if (spec.sharesIds) shared.set(TOKEN_IDS, ids);
  if (spec.sharesRows) shared.set(EMBEDDED, scale(g, x, 1));
  if (spec.copies !== undefined) return { x: copyStreams(g, x, spec.copies), shared };
  return { x: spec.streams === undefined ? x : splitStreams(scope, x, spec.streams), shared };
}

/** Llama 3.1 has one set of factors for all contexts, Phi-3 has two. */
function ropeFactors(
  scope: PartScope,
  { parameters, factorsFrom, factorCount: count = parameters.dimensions / 2 }: RopeTableSpec,
): Weight | undefined {
  if (factorsFrom === undefined) return undefined;
  const set = scope.context > factorsFrom ? 'long' : 'short';
  return (
    scope.optional('rope_freqs.weight', 1, count) ?? scope.optional(`rope_factors_${set}.weight`, 1, count)
  );
}

/** Records one layer: residual stream in, residual stream out. */
export function recordLayer(scope: PartScope, spec: LayerSpec, x: Tensor, inputs: LayerContext): Tensor {
  if (spec.hyper) return recordHyperLayer(scope, spec, spec.hyper, { x, inputs });
  if (spec.earlier) return recordAfterEarlier(scope, spec, spec.earlier, { x, inputs });
  const compute = (stream: Tensor) => recordSublayers(scope, spec, stream, inputs);
  return spec.altUp ? recordAltUp(scope, spec.altUp, { x, inputs }, compute) : compute(x);
}

/** Sublayers that read all streams by shares, and are written to all of them. */
function recordHyperLayer(
  scope: PartScope,
  { sublayers }: LayerSpec,
  hyper: HyperConnectionsSpec,
  { x, inputs }: { readonly x: Tensor; readonly inputs: LayerContext },
): Tensor {
  const names = ['hc_attn', 'hc_ffn'];
  return sublayers.reduce((streams, { preNorm, block }, index) => {
    const of = { ...hyper, name: names[index] ?? `hc_${index}` };
    return throughStreams(scope, streams, of, (read) =>
      block.record(scope, normed(scope, read, preNorm), { ...inputs, entering: read }),
    );
  }, x);
}

/** Sublayers that read the residual stream of earlier layers, too, with the scores of `attn_res_score` and `ffn_res_score`. */
function recordAfterEarlier(
  scope: PartScope,
  { sublayers }: LayerSpec,
  { kept, keeps, epsilon }: EarlierStreams,
  { x, inputs }: { readonly x: Tensor; readonly inputs: LayerContext },
): Tensor {
  const { g } = scope;
  const before = kept.map((name) => sharedStream(inputs, name));
  if (keeps !== undefined) inputs.share(keeps, x);
  const names = ['attn_res_score', 'ffn_res_score'];
  return sublayers.reduce((stream, { preNorm, block }, index) => {
    const isFirst = index === 0;
    const earlier = isFirst || keeps === undefined ? before : [...before, x];
    const read = readStreams(scope, stream, { earlier, name: names[index] ?? `res_score_${index}`, epsilon });
    const computed = block.record(scope, normed(scope, read, preNorm), { ...inputs, entering: read });
    return isFirst && keeps !== undefined ? computed : add(g, stream, computed);
  }, x);
}

/** The residual stream that an earlier part has kept. */
function sharedStream({ shared }: Pick<LayerContext, 'shared'>, name: string): Tensor {
  const stream = shared.get(name);
  invariant(stream, 'an earlier part has kept the residual stream');
  return stream;
}

function recordSublayers(scope: PartScope, spec: LayerSpec, x: Tensor, inputs: LayerContext): Tensor {
  let stream = x;
  // Parallel blocks may share a norm of the layer's input.
  const entering = new Map<string, Tensor>();
  for (const { reads, preNorm, block, outputNorm, factor, sumFactor, postNorm } of spec.sublayers) {
    const input = reads === 'layer' ? x : stream;
    const name = input === x && preNorm ? nameOf(scope, preNorm) : undefined;
    const known = name === undefined ? undefined : entering.get(name);
    const read = known ?? normed(scope, input, preNorm);
    if (name !== undefined) entering.set(name, read);
    const computed = normed(scope, block.record(scope, read, { ...inputs, entering: x }), outputNorm);
    const added = scaled(scope, computed, factor);
    stream = normed(scope, scaled(scope, add(scope.g, stream, added), sumFactor), postNorm);
  }
  return recordScaled(scope, spec.scaled, stream, inputs);
}

/** Multiplies a layer's result by `layer_output_scale`, or adds the embeddings times it. */
function recordScaled(
  scope: PartScope,
  what: LayerSpec['scaled'],
  stream: Tensor,
  inputs: LayerContext,
): Tensor {
  const { g } = scope;
  const name = 'layer_output_scale.weight';
  if (what === 'embeddings') {
    return add(g, stream, mul(g, sharedStream(inputs, EMBEDDED), scope.weight(name, 1, 1)));
  }
  const factor = what && scope.optional(name, 1, 1);
  return factor ? mul(g, stream, factor) : stream;
}

/**
 * Records the step from the residual stream, and what layers share, to the logits of the batch's output rows, or to the rows of an
 * embedding.
 */
export function recordHead(scope: PartScope, spec: HeadSpec, { x, shared }: Embedded): Tensor {
  const { width } = scope.config;
  const logits = spec.kind === 'logits' ? spec : undefined;
  const gathered = gatherRead(scope, logits?.earlier, { x, shared });
  const joined = () =>
    logits?.hyper ? readHeadStreams(scope, gathered, logits.hyper) : joinStreams(scope, gathered, width);
  const rows = gathered.width === width ? gathered : joined();
  if (spec.kind === 'rows') {
    const read = recordDense(scope, normed(scope, rows, spec.norm), spec.dense);
    return spec.classifier ? recordClassifier(scope, read, spec.classifier) : read;
  }
  // Models with tied embeddings have no separate output matrix.
  const isTied = spec.tied !== false && !scope.has('output.weight');
  return recordLogits(scope, spec, {
    read: normalize(scope, rows, spec.norm),
    matrix: isTied ? EMBEDDING_TABLE : 'output.weight',
  });
}

/** The output rows of the residual stream, with those of earlier layers mixed in. */
function gatherRead(scope: PartScope, earlier: EarlierStreams | undefined, { x, shared }: Embedded): Tensor {
  const { g } = scope;
  const last = gatherRows(g, x);
  if (!earlier) return last;
  const { kept, epsilon } = earlier;
  const before = kept.map((name) => gatherRows(g, sharedStream({ shared }, name)));
  return readStreams(scope, last, { earlier: before, name: 'output_res_score', epsilon });
}

/** Records the step from normed rows to logits by a matrix, with the bias and the scale of `name` if there are any. */
export function recordLogits(
  scope: PartScope,
  spec: Extract<HeadSpec, { kind: 'logits' }>,
  {
    read,
    matrix,
    name = 'output',
  }: { readonly read: Tensor; readonly matrix: string; readonly name?: string },
): Tensor {
  const { g } = scope;
  const vocabulary = scope.rowsOf(EMBEDDING_TABLE, read.width);
  const product = scaledProduct(g, read, {
    weight: scope.weight(matrix, vocabulary, read.width),
    bias: scope.optional(`${name}.bias`, 1, vocabulary),
    scale: scope.optional(`${name}.scale`, 1, 1),
  });
  return capLogits(scope, product, spec);
}

/** Records the factor on logits and their bound, of which either may be missing. */
export function capLogits(
  scope: PartScope,
  product: Tensor,
  { scale: factor, softCap }: Pick<Extract<HeadSpec, { kind: 'logits' }>, 'scale' | 'softCap'>,
): Tensor {
  const { g } = scope;
  const logits = scaled(scope, product, factor);
  if (softCap === undefined) return logits;
  return scale(g, unary(g, 'tanh', scale(g, logits, 1 / softCap)), softCap);
}

/** The linear layers of Sentence Transformers, each if the file has it. */
function recordDense(scope: PartScope, x: Tensor, dense: RowsHead['dense']): Tensor {
  if (!dense || !scope.has('dense_2.weight')) return x;
  const hidden = linear(scope, x, { name: 'dense_2', rows: dense.hidden });
  if (!scope.has('dense_3.weight')) return hidden;
  return linear(scope, hidden, { name: 'dense_3', rows: dense.outputs });
}

/**
 * A dense layer with an activation, then the classifier; files have both or one of them (jina-reranker-v1, Qwen3-Reranker).
 */
function recordClassifier(scope: PartScope, x: Tensor, { outputs, activation }: ClassifierSpec): Tensor {
  const last = 'cls.output';
  if (!scope.has('cls.weight')) return linear(scope, x, { name: last, rows: outputs });
  const hasLast = scope.has(`${last}.weight`);
  const dense = linear(scope, x, { name: 'cls', rows: hasLast ? x.width : outputs });
  const activated = unary(scope.g, activation, dense);
  return hasLast ? linear(scope, activated, { name: last, rows: outputs }) : activated;
}

function scaled({ g }: PartScope, x: Tensor, factor = 1): Tensor {
  return factor === 1 ? x : scale(g, x, factor);
}

function normed(scope: PartScope, x: Tensor, norm: NamedNorm | undefined): Tensor {
  return norm ? normalize(scope, x, norm) : x;
}
