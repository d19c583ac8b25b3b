import { fail, invariant } from '../base/errors.ts';
import type { WeightPolicy } from '../formats/weight-policy.ts';
import { GraphBuilder, type OpGraph } from '../ops/graph.ts';
import { add, gatherRows, sample, scale, tokenAppend } from '../ops/index.ts';
import { maskWords, SAMPLING_ROW_WORDS } from '../ops/sampling/sampling-row.ts';
import type { BatchShape, State, Tensor } from '../ops/value.ts';
import { type PartOptions, PartScope, type TensorIndex } from './part-scope.ts';
import { CONTROL_VECTOR } from './control-vectors.ts';
import { EMBEDDING_TABLE, type EmbeddingPlaces } from './embedding-place.ts';
import { EXPERT_COPIES, EXPERT_USES, type ExpertPiece, type HotExpertsOfLayer } from './expert-place.ts';
import { type GroupedState, LayerStates, type StateOptions } from './layer-states.ts';
import {
  type CachePredictor,
  type DrafterSpec,
  hasPredictor,
  type LayerSpec,
  type ModelConfig,
  type BlockPredictor,
  type FeaturePredictor,
  type MaskPredictor,
  type PredictingConfig,
  type PredictorSpec,
} from './model-config.ts';
import { type AttentionSpec, recordCachedRows } from './blocks/attention.ts';
import { normalize } from './blocks/norm.ts';
import {
  DRAFTER_PREFIX,
  DRAFTER_ROPE,
  recordDrafterEmbedding,
  recordDrafterHead,
  recordDrafterLayer,
  recordDrafterRope,
  recordFusion,
} from './stacks/eagle3.ts';
import {
  recordCarried,
  recordNextEmbedding,
  recordPredictorHead,
  recordPredictorLayer,
} from './stacks/record-predictor.ts';
import {
  recordAssistantEmbedding,
  recordAssistantHead,
  recordAssistantInput,
} from './stacks/gemma4-assistant.ts';
import { type Embedded, recordEmbedding, recordHead, recordLayer } from './stacks/record-stack.ts';

/** Options of a model's graphs. */
export interface GraphOptions extends StateOptions {
  readonly shape: BatchShape;
  /** Maximum output rows of any step that shares the model's memory. */
  readonly tokens: number;
  /** Positions of the token history. */
  readonly context: number;
  /** Number of most likely tokens reported besides each sampled one. */
  readonly alternatives: number;
  /** Format of matrices on the device. Default `blocks`. */
  readonly weights?: WeightPolicy;
  readonly adapters?: PartOptions['adapters'];
  /** Default `device`. */
  readonly embedding?: EmbeddingPlaces | undefined;
  /** Whether the model's predictor is recorded. Default false. */
  readonly predicts?: boolean | undefined;
  /** Whether weights may have dequantized copies beside them (`OpGraph.dequantized`). Default false. */
  readonly dequantized?: boolean | undefined;
}

/** One part of the model: its graph, and the prefix of its weights' names in the file. */
export interface ModelPart {
  readonly name: string;
  readonly graph: OpGraph;
  readonly prefix: string;
  /** The states that, over all layers, make up a sequence's state. */
  readonly grouped?: readonly GroupedState[];
  /** The prefix of its states' names, if they are an earlier layer's. */
  readonly statePrefix?: string;
  /** Its index in execution order; the pieces of a layer share one. */
  readonly order: number;
  /** Values that are tapped once the part has run: their outputs. */
  readonly taps?: readonly { readonly name: string; readonly output: string; readonly tensor: Tensor }[];
  /** What it computes of a layer whose experts are streamed. */
  readonly experts?: ExpertPiece;
  /** Its experts, if they are in the host's memory. */
  readonly hotExperts?: HotExpertsOfLayer;
}

/** The parts in execution order. Each reads `x` and what the embedding part shares, and writes the next part's `x`. */
export interface ModelGraphs {
  readonly embedding: ModelPart;
  readonly layers: readonly ModelPart[];
  readonly head: ModelPart;
  readonly sampling: ModelPart;
  /** The parts that propose draft tokens, if the model's predictor was asked for. */
  readonly predictor?: PredictorParts | undefined;
  /** Names, types and widths of the values between parts: `x`, `logits` and what the embedding part shares. */
  readonly boundaries: ReadonlyMap<string, Tensor>;
}

/**
 * The predictor of a model, which proposes draft tokens, sampled as the model will sample the tokens that they are
 * compared with. It keeps its state at the rows' own positions, computed from the layers' result there and, by a block or a
 * drafter that predicts one token at a time, the token at the next position, which the host gives as `next_ids` and
 * `next_positions`.
 */
export interface PredictorParts {
  /** Compute its state, behind the layers of each step. */
  readonly state: readonly ModelPart[];
  /** Continue these to a draft for each output row; none if drafts come from steps of the predictor alone. */
  readonly behindStep: readonly ModelPart[];
  /**
   * A step of the predictor alone. It reads what the predictor carried at the rows `hidden_rows` of its last run, and its
   * drafts; or, as its rows, the last token of each sequence and the masks behind it.
   */
  readonly alone: readonly ModelPart[];
}

/** Each of a predictor's parts, once. */
export function predictorParts(predictor: PredictorParts | undefined): readonly ModelPart[] {
  if (!predictor) return [];
  return [...new Set([...predictor.state, ...predictor.behindStep, ...predictor.alone])];
}

/** All parts, in the order in which steps have them. */
export function partsOf({ embedding, layers, head, sampling, predictor }: ModelGraphs): readonly ModelPart[] {
  return [embedding, ...layers, head, sampling, ...predictorParts(predictor)];
}

/** The graphs with every part exchanged; one that several steps have stays one. */
export function mapParts(graphs: ModelGraphs, of: (part: ModelPart) => ModelPart): ModelGraphs {
  const exchanged = new Map(partsOf(graphs).map((part) => [part, of(part)]));
  const exchange = (part: ModelPart) => exchanged.get(part) as ModelPart;
  const { embedding, layers, head, sampling, predictor, boundaries } = graphs;
  return {
    embedding: exchange(embedding),
    layers: layers.map(exchange),
    head: exchange(head),
    sampling: exchange(sampling),
    predictor: predictor && {
      state: predictor.state.map(exchange),
      behindStep: predictor.behindStep.map(exchange),
      alone: predictor.alone.map(exchange),
    },
    boundaries,
  };
}

/** The states of weights: a layer that reads an earlier one's caches has its own. */
const OF_WEIGHTS: ReadonlySet<string> = new Set([EXPERT_COPIES, EXPERT_USES]);

/** Each layer has its own caches; the token history and the sampled tokens are shared by all parts. */
export function stateName({ statePrefix, prefix }: ModelPart, { name }: Pick<State, 'name'>): string {
  return (OF_WEIGHTS.has(name) ? prefix : (statePrefix ?? prefix)) + name;
}

/** The states in which tokens are handed on: those that a step sampled, and a predictor's drafts. */
type TokenState = 'tokens' | 'drafts';

const ON_DEVICE: EmbeddingPlaces = { tokens: 'device', perLayer: 'device' };

/**
 * Records all parts of a model for one batch shape. Cheap: no data is read. Throws `EMBEDDING_TIED` if the embedding
 * should stay on the host but the head reads it.
 */
export function recordModel(config: ModelConfig, tensors: TensorIndex, options: GraphOptions): ModelGraphs {
  const recorder = new ModelRecorder(config, tensors, options);
  const embedding = recorder.embedding();
  const layers = config.layers.map((layer, index) => recorder.layer(layer, index));
  const head = recorder.head();
  const isTied = head.graph.weights.some(({ name }) => name === EMBEDDING_TABLE);
  if (options.embedding?.tokens === 'host' && isTied)
    fail('EMBEDDING_TIED', { architecture: config.architecture });
  const sampling = recorder.sampling();
  const predictor = options.predicts ? recordPredictor(config, recorder) : undefined;
  return { embedding, layers, head, sampling, predictor, boundaries: recorder.boundaries };
}

function recordPredictor(config: ModelConfig, recorder: ModelRecorder): PredictorParts {
  invariant(hasPredictor(config), 'only a model that has a predictor is asked to predict');
  const { predictor } = config;
  if (predictor.kind === 'masks') return recordMaskPredictor({ ...config, predictor }, recorder);
  if (predictor.kind === 'caches') return recordCachePredictor({ ...config, predictor }, recorder);
  const next = recorder.nextTokens(config, 'tokens');
  const layer = recorder.predictorLayer(predictor);
  const drafts = [recorder.predictorHead(config), recorder.predictorSampling('next_positions')];
  const alone = [recorder.nextTokens(config, 'drafts'), layer, ...drafts];
  return { state: [next, layer], behindStep: drafts, alone };
}

function recordCachePredictor(
  config: PredictingConfig<CachePredictor>,
  recorder: ModelRecorder,
): PredictorParts {
  const { predictor } = config;
  const next = recorder.nextTokens(config, 'tokens');
  const layers = [...predictor.layers.keys()].map((layer) => recorder.cachedLayer(predictor, layer));
  const order = next.order + layers.length + 1;
  const head = { ...recorder.predictorHead(config), order };
  const drafts = [...layers, head, { ...recorder.predictorSampling('next_positions'), order }];
  const alone = [recorder.nextTokens(config, 'drafts'), ...drafts];
  return { state: [], behindStep: [next, ...drafts], alone };
}

function recordMaskPredictor(
  config: PredictingConfig<MaskPredictor>,
  recorder: ModelRecorder,
): PredictorParts {
  const { predictor } = config;
  const layers = [...predictor.layers.keys()];
  const fusion = recorder.fusion(predictor);
  const state = [fusion, ...layers.map((layer) => recorder.cachedRows(predictor, layer))];
  const masks = recorder.maskEmbedding(predictor);
  const filling = layers.map((layer) => recorder.maskLayer(predictor, layer));
  const order = masks.order + layers.length + 1;
  const head = { ...recorder.predictorHead(config), order };
  const sampling = { ...recorder.predictorSampling('sampled_positions'), order };
  return { state, behindStep: [], alone: [masks, ...filling, head, sampling] };
}

/** What equal layers share. */
type LayerKind = Pick<ModelPart, 'graph' | 'grouped'>;

class ModelRecorder {
  readonly boundaries = new Map<string, Tensor>();
  readonly #shared: string[] = [];
  readonly #kinds: LayerKind[] = [];
  /** What the predictor's layer shares with the embedding of the next tokens. */
  #perStep: readonly string[] = [];

  constructor(
    readonly config: ModelConfig,
    readonly tensors: TensorIndex,
    readonly options: GraphOptions,
  ) {}

  embedding(): ModelPart {
    const g = this.#builder('embedding');
    const ids = tokenAppend(g, this.#history(g), this.#tokens(g, 'tokens'));
    const { x, shared } = recordEmbedding(this.#scope(g, ''), this.config.embedding, ids);
    this.#output(g, 'x', x);
    for (const [name, tensor] of shared) {
      this.#shared.push(name);
      this.#output(g, name, tensor);
    }
    return { name: g.name, graph: g.finish(), prefix: '', order: 0 };
  }

  layer(spec: LayerSpec, index: number): ModelPart {
    const g = this.#builder('layer');
    const prefix = layerPrefix(index);
    const shared = new Map(this.#shared.map((name) => [name, this.#input(g, name)]));
    const share = (name: string, tensor: Tensor) => {
      if (!this.#shared.includes(name)) this.#shared.push(name);
      this.#output(g, name, tensor);
    };
    const states = new LayerStates(g, this.options);
    const inputs = { index, shared, share, states };
    const x = this.#input(g, 'x');
    if (this.#features.includes(index)) this.#output(g, featureOf(index), x);
    const scope = this.#scope(g, prefix);
    const result = recordLayer(scope, spec, x, inputs);
    const control = scope.optional(CONTROL_VECTOR, 1, result.width);
    g.output('x', control ? add(g, result, control) : result, 'any');
    const kind = this.#kindOf({ graph: g.finish(), grouped: states.grouped });
    const { owner } = states;
    const borrowed = owner === undefined ? {} : { statePrefix: layerPrefix(owner) };
    return { name: `layer ${index}`, ...kind, ...borrowed, prefix, order: 1 + index };
  }

  head(): ModelPart {
    const g = this.#builder('head');
    const { head } = this.config;
    const kept = head.kind === 'logits' ? (head.earlier?.kept ?? []) : [];
    const shared = new Map(kept.map((name) => [name, this.#input(g, name)]));
    this.#output(g, 'logits', recordHead(this.#scope(g, ''), head, { x: this.#input(g, 'x'), shared }));
    return { name: g.name, graph: g.finish(), prefix: '', order: 1 + this.config.layers.length };
  }

  sampling(): ModelPart {
    const g = this.#builder('sampling');
    const { tokens, report } = this.#sample(g, 'logits');
    g.output('tokens', tokens);
    g.output('report', report);
    return { name: g.name, graph: g.finish(), prefix: '', order: 2 + this.config.layers.length };
  }

  #sample(g: GraphBuilder, of: 'logits' | 'draft logits', positions?: Tensor) {
    const parameters = g.input('parameters', { axis: 'outputs', width: SAMPLING_ROW_WORDS, type: 'i32' });
    const logits = this.#input(g, of);
    const { alternatives } = this.options;
    const [history, masks] = [this.#history(g), this.#masks(g, logits.width)];
    return sample(g, {
      logits,
      parameters,
      history,
      masks,
      alternatives,
      ...(positions && { positions }),
    });
  }

  /** The layers whose inputs a drafter reads. */
  get #features(): readonly number[] {
    const { predictor } = this.config;
    return this.options.predicts && predictor && predictor.kind !== 'block' ? predictor.features : [];
  }

  nextTokens(config: PredictingConfig, from: TokenState): ModelPart {
    const g = this.#builder(`next of ${from}`);
    const { predictor } = config;
    invariant(predictor.kind !== 'masks', 'masks are filled without the tokens that follow');
    const scope = this.#scope(g, '', predictor.kind === 'caches' ? undefined : predictor);
    const row = (name: string) => g.input(name, { axis: 'rows', width: 1, type: 'i32' });
    const next = { ids: row('next_ids'), positions: row('next_positions') };
    const ids = tokenAppend(g, this.#history(g), this.#tokens(g, from), next);
    const embedded = (): Embedded => {
      if (predictor.kind === 'features') return recordDrafterEmbedding(scope, predictor, ids);
      if (predictor.kind === 'block') return recordNextEmbedding(scope, { ...config, predictor }, ids);
      // Further drafts are attended from the position of the first.
      const positions = from === 'tokens' ? next.positions : row('draft_positions');
      return recordAssistantEmbedding(scope, predictor, { ids, positions, scale: config.embedding.scale });
    };
    const { x, shared } = embedded();
    for (const [name, tensor] of shared) this.#output(g, name, tensor);
    this.#perStep = [...shared.keys()];
    const carried =
      from === 'tokens'
        ? this.#carried(g, config)
        : gatherRows(g, this.#input(g, 'hidden'), row('hidden_rows'));
    if (predictor.kind === 'caches') {
      this.#output(
        g,
        'drafted',
        recordAssistantInput(this.#scope(g, '', predictor), predictor, { next: x, carried }),
      );
    } else {
      this.#output(g, 'next', x);
      this.#output(g, 'carried', carried);
    }
    return this.#predictorPart(g, '');
  }

  /** What the predictor reads of the layers. */
  #carried(g: GraphBuilder, config: PredictingConfig): Tensor {
    const { predictor } = config;
    const x = () => this.#input(g, 'x');
    if (predictor.kind === 'caches') return normalize(this.#scope(g, ''), x(), config.head.norm);
    if (predictor.kind !== 'block') return this.#fused(g, predictor);
    return recordCarried(this.#scope(g, '', predictor), { ...config, predictor }, x());
  }

  #fused(g: GraphBuilder, predictor: DrafterSpec): Tensor {
    const { length } = this.config.layers;
    const names = predictor.features.map((layer) => (layer === length ? 'x' : featureOf(layer)));
    const features = names.map((name) => this.#input(g, name));
    return recordFusion(this.#scope(g, '', predictor), predictor, features);
  }

  /** What a drafter that fills masks reads of the layers, and the rotary angles of the rows. */
  fusion(spec: MaskPredictor): ModelPart {
    const g = this.#builder('fusion');
    this.#output(g, 'fused', this.#fused(g, spec));
    this.#output(g, DRAFTER_ROPE, recordDrafterRope(this.#scope(g, '', spec), spec.rope));
    return this.#predictorPart(g, '');
  }

  /** The keys and values of the model's positions in a layer of such a drafter. */
  cachedRows(spec: MaskPredictor, layer: number): ModelPart {
    const g = this.#builder('drafter keys');
    const prefix = DRAFTER_PREFIX + layerPrefix(layer);
    const { inputs, states } = this.#drafterInputs(g, layer);
    const attention = spec.attention[layer] as AttentionSpec;
    recordCachedRows(this.#scope(g, prefix, spec), this.#input(g, 'fused'), attention, inputs);
    return { ...this.#predictorPart(g, prefix), grouped: states.grouped };
  }

  /** The last token of each sequence and the masks behind it. */
  maskEmbedding(spec: MaskPredictor): ModelPart {
    const g = this.#builder('masks');
    const ids = tokenAppend(g, this.#history(g), this.#tokens(g, 'drafts'));
    const { x, shared } = recordDrafterEmbedding(this.#scope(g, '', spec), spec, ids);
    this.#output(g, 'drafted', spec.embeddingScale === 1 ? x : scale(g, x, spec.embeddingScale));
    for (const [name, tensor] of shared) this.#output(g, name, tensor);
    return this.#predictorPart(g, '');
  }

  /** A layer of a drafter that fills masks, whose state is that of its `cachedRows`. */
  maskLayer(spec: MaskPredictor, layer: number): ModelPart {
    const g = this.#builder('drafter layer');
    const prefix = DRAFTER_PREFIX + layerPrefix(layer);
    const { inputs } = this.#drafterInputs(g, layer);
    const x = this.#input(g, 'drafted');
    const of = spec.layers[layer] as LayerSpec;
    g.output('drafted', recordLayer(this.#scope(g, prefix, spec), of, x, inputs));
    const part = this.#predictorPart(g, prefix);
    return { ...part, order: part.order + 1 + layer };
  }

  #drafterInputs(g: GraphBuilder, index: number) {
    const states = new LayerStates(g, this.options);
    const shared = new Map([[DRAFTER_ROPE, this.#input(g, DRAFTER_ROPE)]]);
    return { states, inputs: { index, shared, share: () => {}, states } };
  }

  /** A layer of a drafter that attends to the model's caches. */
  cachedLayer(spec: CachePredictor, index: number): ModelPart {
    const g = this.#builder('assistant layer');
    const prefix = DRAFTER_PREFIX + layerPrefix(index);
    const states = new LayerStates(g, this.options);
    const shared = new Map(this.#perStep.map((name) => [name, this.#input(g, name)]));
    const inputs = { index, shared, share: () => {}, states };
    const x = this.#input(g, 'drafted');
    this.#output(
      g,
      'drafted',
      recordLayer(this.#scope(g, prefix, spec), spec.layers[index] as LayerSpec, x, inputs),
    );
    const part = this.#predictorPart(g, prefix);
    const { owner } = states;
    invariant(owner !== undefined, 'it has no cache of its own');
    return { ...part, statePrefix: layerPrefix(owner), order: part.order + 1 + index };
  }

  predictorLayer(spec: BlockPredictor | FeaturePredictor): ModelPart {
    const g = this.#builder('predictor');
    const index = spec.kind === 'block' ? spec.index : 0;
    const prefix = spec.kind === 'block' ? layerPrefix(index) : DRAFTER_PREFIX + layerPrefix(index);
    const states = new LayerStates(g, this.options);
    const shared = new Map(this.#perStep.map((name) => [name, this.#input(g, name)]));
    const between = { next: this.#input(g, 'next'), carried: this.#input(g, 'carried') };
    const inputs = { index, shared, share: () => {}, states };
    const scope = this.#scope(g, prefix, spec);
    const predicted =
      spec.kind === 'block'
        ? recordPredictorLayer(scope, spec, between, inputs)
        : recordDrafterLayer(scope, spec, between, inputs);
    this.#output(g, 'predicted', predicted);
    return { ...this.#predictorPart(g, prefix), grouped: states.grouped };
  }

  predictorHead(config: PredictingConfig): ModelPart {
    const g = this.#builder('predictor head');
    const { predictor } = config;
    const scope = this.#scope(g, '', predictor);
    const predicted = this.#input(g, 'layers' in predictor ? 'drafted' : 'predicted');
    const { width: vocabulary } = this.boundaries.get('logits') as Tensor;
    const recorded = () => {
      if (predictor.kind === 'block') return recordPredictorHead(scope, { ...config, predictor }, predicted);
      if (predictor.kind === 'caches')
        return recordAssistantHead(scope, predictor, { drafted: predicted, vocabulary });
      return { hidden: predicted, logits: recordDrafterHead(scope, predictor, { predicted, vocabulary }) };
    };
    const { hidden, logits } = recorded();
    if (predictor.kind !== 'masks') this.#output(g, 'hidden', hidden);
    this.#output(g, 'draft logits', logits);
    return this.#predictorPart(g, '');
  }

  /** Samples drafts after the positions that the host gives by this name. */
  predictorSampling(after: 'next_positions' | 'sampled_positions'): ModelPart {
    const g = this.#builder('predictor sampling');
    const positions = g.input(after, { axis: 'rows', width: 1, type: 'i32' });
    g.output('drafts', this.#sample(g, 'draft logits', positions).tokens);
    return this.#predictorPart(g, '');
  }

  /** Its parts read the last layer's result as the head does. */
  #predictorPart(g: GraphBuilder, prefix: string): ModelPart {
    return { name: g.name, graph: g.finish(), prefix, order: 1 + this.config.layers.length };
  }

  /** The first equal layer's graph, so that equal layers share one graph object and need no further comparison. */
  #kindOf(layer: LayerKind): LayerKind {
    const known = this.#kinds.find(({ graph }) => areOfOneKind(graph, layer.graph));
    if (!known) this.#kinds.push(layer);
    return known ?? layer;
  }

  #builder(name: string): GraphBuilder {
    const { shape, dequantized } = this.options;
    return new GraphBuilder(name, shape, dequantized ? { dequantized } : {});
  }

  /** The scope of a part of the model, or of its predictor. */
  #scope(g: GraphBuilder, prefix: string, predictor?: PredictorSpec): PartScope {
    const { architecture, width } = this.config;
    const config =
      predictor && predictor.kind !== 'block'
        ? { architecture, width: predictor.width }
        : { architecture, width };
    const { context, weights = 'blocks', embedding = ON_DEVICE, adapters } = this.options;
    return new PartScope(g, config, this.tensors, { prefix, context, weights, embedding, adapters });
  }

  #output(g: GraphBuilder, name: string, tensor: Tensor): void {
    // A part's output has its own memory, even if it is just its input.
    const own = tensor.role === 'input' ? scale(g, tensor, 1) : tensor;
    g.output(name, own);
    this.boundaries.set(name, own);
  }

  #input(g: GraphBuilder, name: string): Tensor {
    const { axis, width, type } = this.boundaries.get(name) as Tensor;
    return g.input(name, { axis, width, type });
  }

  #history(g: GraphBuilder) {
    return g.state('history', 'i32', this.options.shape.slots, this.options.context);
  }

  /** The token masks by slot, written by the engine. */
  #masks(g: GraphBuilder, vocabulary: number) {
    return g.state('masks', 'i32', this.options.shape.slots, maskWords(vocabulary));
  }

  /** The state in which sampling leaves its output of this name. */
  #tokens(g: GraphBuilder, name: TokenState) {
    return g.state(name, 'i32', this.options.tokens, 1);
  }
}

function layerPrefix(index: number): string {
  return `blk.${index}.`;
}

/** The value in which a layer's input is kept for a drafter. */
function featureOf(layer: number): string {
  return `input of ${layer}`;
}

/** True for graphs that can share a program: same operators, same shapes, same formats. */
export function areOfOneKind(a: OpGraph, b: OpGraph): boolean {
  return areEqual(a, b);
}

/** Compares data; formats are compared by identity. Uses loops because opening a model compares hundreds of graphs. */
function areEqual(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  const [of, other] = [a as Record<string, unknown>, b as Record<string, unknown>];
  let more = 0;
  for (const key in of) {
    if (!areEqual(of[key], other[key])) return false;
    more++;
  }
  for (const _ in other) more--;
  return more === 0;
}
