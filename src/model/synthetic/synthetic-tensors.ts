import { F16, F32, I32, Q8_0, type TensorFormat } from '../../formats/index.ts';
import type { PlannedTensor } from '../../gguf/index.ts';
import { GraphBuilder } from '../../ops/graph.ts';
import type { Tensor, Weight } from '../../ops/value.ts';
import { PartScope } from '../part-scope.ts';
import { EMBEDDING_TABLE } from '../embedding-place.ts';
import { LayerStates } from '../layer-states.ts';
import { groupsWithPredictor, hasPredictor, type ModelConfig } from '../model-config.ts';
import {
  recordNextEmbedding,
  recordPredictorHead,
  recordPredictorLayer,
} from '../stacks/record-predictor.ts';
import { DRAFTER_PREFIX, recordFusion } from '../stacks/eagle3.ts';
import { recordEmbedding, recordHead, recordLayer } from '../stacks/record-stack.ts';

/** The formats of a synthetic model's matrices. */
export interface SyntheticFormats {
  /** The format of matrices; if a row is not a whole number of blocks, Q8_0, or F16 if that does not fit either. */
  readonly format: TensorFormat;
  /** The format of `output.weight`, if it differs. */
  readonly outputFormat?: TensorFormat | undefined;
}

/** What a model's configuration does not say about its tensors. */
export interface SyntheticTensorRequest extends SyntheticFormats {
  readonly config: ModelConfig;
  readonly vocabulary: number;
  /** Names, within their part of the model or in full, of optional tensors that this file has. */
  readonly optional: ReadonlySet<string>;
  /** Shapes, by such names, of tensors with more than two dimensions; they are stored in f32. */
  readonly shapes: Readonly<Record<string, readonly number[]>>;
}

/** Arbitrary: sizes of states and batches do not affect the weights. */
const SHAPE = { rows: 1, outputs: 1, slots: 1, blocksPerSlot: 1 } as const;

/** The tensors of a model that does not exist yet: those that its architecture requests while it is recorded. */
export function syntheticTensors(request: SyntheticTensorRequest): PlannedTensor[] {
  const { config } = request;
  const wanted = new Map<string, PlannedTensor>();
  const record = (prefix: string, part: (scope: WishingScope) => void) => {
    part(new WishingScope(request, wanted, prefix));
  };
  const passed = new Map<string, Tensor>();
  record('', (scope) => {
    const { x, shared } = recordEmbedding(scope, config.embedding, scope.g.batch.ids);
    for (const [name, tensor] of [['x', x] as const, ...shared]) passed.set(name, tensor);
  });
  const inputs = (g: GraphBuilder) => {
    const shared = new Map(
      [...passed].map(([name, { axis, width, type }]) => [name, g.input(name, { axis, width, type })]),
    );
    return { shared, x: shared.get('x') as Tensor };
  };
  const groups = groupsWithPredictor(config).map((group) => ({ ...group, blocks: 1 }));
  for (const [index, layer] of config.layers.entries()) {
    record(`blk.${index}.`, (scope) => {
      const states = new LayerStates(scope.g, { groups, cacheType: 'f16' });
      const { x, shared } = inputs(scope.g);
      recordLayer(scope, layer, x, {
        shared,
        index,
        states,
        share: (name, tensor) => passed.set(name, tensor),
      });
    });
  }
  record('', (scope) => recordHead(scope, config.head, inputs(scope.g)));
  if (hasPredictor(config) && config.predictor.kind === 'block') {
    const { predictor } = config;
    const predicting = { ...config, predictor };
    record(`blk.${predictor.index}.`, (scope) => {
      const states = new LayerStates(scope.g, { groups, cacheType: 'f16' });
      const { x, shared } = inputs(scope.g);
      const of = { shared, index: predictor.index, states, share: () => {} };
      const next = scope.g.input('next', { axis: 'rows', width: config.width, type: 'f32' });
      recordPredictorLayer(scope, predictor, { next, carried: x }, of);
    });
    record('', (scope) => recordPredictorHead(scope, predicting, inputs(scope.g).x));
    record('', (scope) => recordNextEmbedding(scope, predicting, scope.g.batch.ids));
  }
  const { predictor } = config;
  if (predictor?.kind !== 'masks') return [...wanted.values()];
  record('', (scope) => {
    const { axis, width, type } = passed.get('x') as Tensor;
    const input = (layer: number) => scope.g.input(`input of ${layer}`, { axis, width, type });
    recordFusion(scope, predictor, predictor.features.map(input));
  });
  // The model has the tables; what names the drafter's tensors beside the model's is not in the file.
  wanted.delete(EMBEDDING_TABLE);
  return Array.from(wanted.values(), (tensor) => ({
    ...tensor,
    name: tensor.name.replace(DRAFTER_PREFIX, ''),
  }));
}

/** The format, or the next best whose blocks divide rows of this many columns. */
export function fittingFormat(format: TensorFormat, columns: number): TensorFormat {
  return [format, Q8_0].find(({ blockElements }) => columns % blockElements === 0) ?? F16;
}

/**
 * Matrices that files store in f32: routers and the biases of experts are small, and choices must not depend on rounding;
 * shares of residual streams and scores by place are few and precise; convolution taps, state rates, norms by group or head, tables of
 * places and kinds and RWKV's shares and narrow products are few.
 */
const IN_F32 =
  /^(ffn_gate_inp|attn_[qk]_norm|hc_|output_hc|(attn|indexer)_compressor_ape|ssm_conv1d|ssm_a$|ssm_d$|ssm_norm|position_embd|token_types|shortconv\.conv|time_mix_(first|[wva][012]|g[12]|decay_w[12]))|\.bias$/;

/** Indices of experts. */
const EXPERTS_OF_TOKENS = /^ffn_gate_tid2eid/;

/** A scope whose file has whatever is requested. */
class WishingScope extends PartScope {
  readonly #request: SyntheticTensorRequest;
  readonly #wanted: Map<string, PlannedTensor>;

  constructor(request: SyntheticTensorRequest, wanted: Map<string, PlannedTensor>, prefix: string) {
    const g = new GraphBuilder('synthetic', SHAPE);
    super(g, request.config, new Map(), {
      prefix,
      context: request.config.trainedContext,
      weights: 'blocks',
      embedding: { tokens: 'device', perLayer: 'device' },
    });
    this.#request = request;
    this.#wanted = wanted;
  }

  override weight(name: string, rows: number, columns: number): Weight {
    const shape = this.#request.shapes[name] ?? (rows === 1 ? [columns] : [columns, rows]);
    return this.#wish(name, { rows, columns: shape[0] ?? 1 }, shape);
  }

  override column(name: string, length: number): Weight {
    return this.#wish(name, { rows: 1, columns: length }, [1, length]);
  }

  override list(name: string, length: number): Weight {
    return this.#wish(name, { rows: length, columns: 1 }, [length]);
  }

  override expertWeight(
    name: string,
    { count, rows }: { count: number; rows: number },
    columns: number,
  ): Weight {
    return this.#wish(name, { rows: count * rows, columns }, [columns, rows, count]);
  }

  #wish(
    name: string,
    { rows, columns }: { readonly rows: number; readonly columns: number },
    shape: readonly number[],
  ): Weight {
    const format = this.#formatOf(name, rows, columns);
    const whole = this.prefix + name;
    if (!this.#wanted.has(whole)) this.#wanted.set(whole, { name: whole, format, shape });
    return this.g.weight(name, format, rows, columns);
  }

  override optional(name: string, rows: number, columns: number): Weight | undefined {
    return this.has(name) ? this.weight(name, rows, columns) : undefined;
  }

  override has(name: string): boolean {
    return this.#request.optional.has(name) || this.#request.optional.has(this.prefix + name);
  }

  /** Only the file knows the size of the vocabulary. */
  override rowsOf(): number {
    return this.#request.vocabulary;
  }

  #formatOf(name: string, rows: number, columns: number): TensorFormat {
    const { format, outputFormat = format, shapes } = this.#request;
    if (EXPERTS_OF_TOKENS.test(name)) return I32;
    if (rows === 1 || name in shapes || IN_F32.test(name)) return F32;
    return fittingFormat(name === 'output.weight' ? outputFormat : format, columns);
  }
}
