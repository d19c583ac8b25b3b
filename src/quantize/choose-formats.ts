import { fail, invariant } from '../base/errors.ts';
import { formatNamed, type TensorFormat } from '../formats/index.ts';
import type { GgufFile, PlannedTensor } from '../gguf/index.ts';
import type { MatrixPlace, Rule } from './mix-rules.ts';
import type { Mix } from './mixes.ts';

/** What formats are chosen by, besides the names and shapes of tensors. */
export interface FormatChoices {
  readonly mix: Mix;
  /** Whether every matrix gets the mix's own format. */
  readonly pure?: boolean | undefined;
  /** The format of `output.weight`. */
  readonly outputFormat?: TensorFormat | undefined;
  /** The format of the embeddings. */
  readonly embeddingFormat?: TensorFormat | undefined;
  /** Formats by patterns of tensor names; the first that matches counts. */
  readonly tensorFormats?: readonly (readonly [pattern: RegExp, format: TensorFormat])[] | undefined;
  readonly hasImportance: boolean;
}

/** What is known of a file whose formats are chosen. */
interface FormatsOf extends Pick<GgufFile, 'metadata'> {
  readonly tensors: readonly PlannedTensor[];
}

/** The role of a matrix, as far as rules tell them apart. */
type Role = 'head' | 'embedding' | 'value' | 'key' | 'query' | 'output' | 'up' | 'gate' | 'down' | 'other';

const ROLES: readonly (readonly [part: RegExp, role: Role])[] = [
  [/^output\.weight$/, 'head'],
  [/^(per_layer_)?token_embd\.weight$/, 'embedding'],
  [/attn_(qkv|kv_b|v)\.weight/, 'value'],
  [/attn_k\.weight/, 'key'],
  [/attn_q\.weight/, 'query'],
  [/attn_output\.weight/, 'output'],
  [/ffn_up/, 'up'],
  [/ffn_gate/, 'gate'],
  [/ffn_down/, 'down'],
];

/**
 * Matrices that stay as they are: small ones, and those that products do not read. The names are of llama.cpp's
 * `tensor_allows_quantization`.
 */
const KEPT = new RegExp(
  [
    ...['_norm\\.weight', 'ffn_gate_inp\\.weight', 'ffn_gate_tid2eid\\.weight', 'altup', 'laurel'],
    ...['per_layer_model_proj', '^position_embd\\.weight$', '^token_types\\.weight$', 'ssm_conv1d'],
    ...['shortconv\\.conv\\.weight', 'indexer\\.[kq]_proj\\.weight', 'attn_rel_b\\.weight'],
    ...['time_mix_(first|[wva][012]|g[12]|decay_w[12]|lerp_fused)\\.weight', '\\.position_embd'],
    ...['sam\\.(pos_embd|neck\\.|net_)', '\\.rel_pos', '\\.patch_(embd|merger)', 'a\\.rvq\\.codebook'],
    'mm\\.a\\.code_embd',
  ].join('|'),
);

/** Formats of smaller blocks, for rows that are no whole number of blocks. */
const SMALLER: Readonly<Record<string, string>> = {
  ...{ Q2_0: 'Q4_0', Q2_K: 'Q4_0', Q3_K: 'Q4_0', TQ1_0: 'Q4_0', TQ2_0: 'Q4_0' },
  ...{ Q4_K: 'Q5_0', Q5_K: 'Q5_1', Q6_K: 'Q8_0' },
  ...{ IQ1_S: 'IQ4_NL', IQ1_M: 'IQ4_NL', IQ2_XXS: 'IQ4_NL', IQ2_XS: 'IQ4_NL', IQ2_S: 'IQ4_NL' },
  ...{ IQ3_XXS: 'IQ4_NL', IQ3_S: 'IQ4_NL', IQ4_XS: 'IQ4_NL' },
};

/** Of models of eight experts, keys and values are small beside the experts. */
const EIGHT = 8;

/** The format of each tensor of a file in a mix, by the rules of llama.cpp's `llama-quantize`. */
export function chooseFormats(gguf: FormatsOf, choices: FormatChoices): ReadonlyMap<string, TensorFormat> {
  const chosen = new Map<string, TensorFormat>();
  const chooser = new FormatChooser(gguf, choices);
  for (const tensor of inLayerOrder(gguf.tensors)) chosen.set(tensor.name, chooser.formatOf(tensor));
  return chosen;
}

/** Rules count the matrices of a role layer by layer, whatever the order in the file. */
function inLayerOrder(tensors: readonly PlannedTensor[]): readonly PlannedTensor[] {
  const layerOf = ({ name }: PlannedTensor) => Number(/^blk\.(\d+)\./.exec(name)?.[1] ?? -1);
  return tensors.toSorted((a, b) => layerOf(a) - layerOf(b) || (a.name < b.name ? -1 : 1));
}

class FormatChooser {
  readonly #choices: FormatChoices;
  readonly #facts: Omit<MatrixPlace, 'index' | 'count' | 'layer'>;
  readonly #architecture: string;
  readonly #isTied: boolean;
  readonly #isLlama70b: boolean;
  readonly #values: number;
  /** How many matrices of a role there were. */
  readonly #seen = new Map<Role, number>();

  constructor(gguf: FormatsOf, choices: FormatChoices) {
    const { metadata } = gguf;
    const architecture = metadata.string('general.architecture') ?? '';
    const first = (key: string): number | undefined => {
      const value = metadata.get(`${architecture}.${key}`);
      const number = typeof value === 'object' && value !== null && 'length' in value ? value[0] : value;
      return typeof number === 'number' ? number : undefined;
    };
    const heads = first('attention.head_count') ?? 0;
    const stateHeads = first('attention.head_count_kv') ?? heads;
    const layers = first('block_count') ?? 0;
    this.#choices = choices;
    this.#architecture = architecture;
    this.#facts = {
      layers,
      groups: stateHeads === 0 ? 0 : Math.floor(heads / stateHeads),
      experts: first('expert_count') ?? 0,
      hasImportance: choices.hasImportance,
      falcon: architecture === 'falcon',
    };
    this.#isTied = !gguf.tensors.some(({ name }) => roleOf(name) === 'head');
    this.#isLlama70b = is70b(architecture, layers, heads === stateHeads);
    this.#values = gguf.tensors.filter(({ name }) => roleOf(name) === 'value').length;
  }

  formatOf(tensor: PlannedTensor): TensorFormat {
    const { mix, pure, outputFormat, embeddingFormat, tensorFormats = [] } = this.#choices;
    if (!isQuantizable(tensor)) return tensor.format;
    const role = roleOf(tensor.name);
    const named = tensorFormats.find(([pattern]) => pattern.test(tensor.name))?.[1];
    const isNamedTable = named && tensor.name === 'per_layer_token_embd.weight';
    if (embeddingFormat && role === 'embedding' && !isNamedTable) return embeddingFormat;
    if (outputFormat && role === 'head') return outputFormat;
    const own = required(mix.format);
    if (!own.layout) return own;
    const format = named ?? (pure ? own : required(this.#byRules(tensor, role)));
    return fitting(format, tensor);
  }

  #byRules(tensor: PlannedTensor, role: Role): string {
    const { mix, outputFormat } = this.#choices;
    if (role === 'head' || (role === 'embedding' && this.#isTied)) {
      return outputFormat?.name ?? this.#headFormat(tensor);
    }
    if (mix.fp4Experts) return this.#isExpert(tensor, role) ? mix.format : 'Q8_0';
    if (role === 'embedding') return mix.embedding ?? mix.format;
    return this.#byRole(tensor, role) ?? mix.format;
  }

  #byRole(tensor: PlannedTensor, role: Role): string | undefined {
    const { mix } = this.#choices;
    const eight = this.#facts.experts === EIGHT;
    switch (role) {
      case 'value':
        return this.#valueFormat(tensor);
      case 'key':
        if (eight) return mix.fewBits ? 'Q4_K' : 'Q8_0';
        return mix.key;
      case 'query':
        return mix.query;
      case 'output':
        if (mix.fewBits) return eight ? 'Q5_K' : mix.output;
        return this.#facts.falcon ? mix.falconOutput : eight ? mix.output8 : mix.output;
      case 'down':
        return this.#counted(tensor, role, mix.down);
      case 'up':
      case 'gate':
        return mix.fewBits ? undefined : this.#counted(tensor, role, mix.upAndGate);
      default:
        return undefined;
    }
  }

  #valueFormat(tensor: PlannedTensor): string | undefined {
    const { mix } = this.#choices;
    const format = this.#counted(tensor, 'value', mix.value);
    if (mix.fewBits) return format;
    if (this.#facts.experts === EIGHT) return 'Q8_0';
    const isSmall = this.#isLlama70b && /^Q[34]_K$/.test(format ?? mix.format);
    return isSmall ? 'Q5_K' : format;
  }

  /** What a rule says of the next matrix of a role. */
  #counted({ name }: PlannedTensor, role: Role, rule: Rule | undefined): string | undefined {
    const index = this.#seen.get(role) ?? 0;
    this.#seen.set(role, index + 1);
    // Some models have experts in a few layers only: then the name tells the layer.
    const hasExperts = this.#facts.experts > 1 && !this.#choices.mix.fewBits;
    const layer = hasExperts ? Number(/^blk\.(\d+)\./.exec(name)?.[1] ?? index) : index;
    return rule?.({ ...this.#facts, index, count: this.#values, layer });
  }

  #headFormat(tensor: PlannedTensor): string {
    const { mix } = this.#choices;
    const rowIsWhole = (tensor.shape[0] ?? 0) % required(mix.format).blockElements === 0;
    if (mix.fp4Experts || this.#facts.falcon || !rowIsWhole || mix.format === 'Q8_0') return 'Q8_0';
    return mix.head ?? 'Q6_K';
  }

  /** Projections of latent attention have three dimensions as well. */
  #isExpert({ shape }: PlannedTensor, role: Role): boolean {
    const isFeedForward = role === 'up' || role === 'gate' || role === 'down';
    return (shape[2] ?? 1) > 1 && (this.#architecture !== 'bailingmoe3' || isFeedForward);
  }
}

function roleOf(name: string): Role {
  return ROLES.find(([part]) => part.test(name))?.[1] ?? 'other';
}

function isQuantizable({ name, shape }: PlannedTensor): boolean {
  const dimensions = shape.findLastIndex((size) => size > 1) + 1;
  return dimensions >= 2 && name.endsWith('weight') && !KEPT.test(name);
}

/** The models of 70 billion weights whose eight query heads per head of values make these small. */
function is70b(architecture: string, layers: number, isMultiHead: boolean): boolean {
  if (architecture === 'llama') return layers === 80 && !isMultiHead;
  return layers === 80 ? /^(deci|olmo|qwen2)$/.test(architecture) : layers === 68 && architecture === 'jais2';
}

/** The format, or one of smaller blocks if rows are no whole number of its blocks. */
function fitting(format: TensorFormat, { shape }: PlannedTensor): TensorFormat {
  const fits = ({ blockElements }: TensorFormat) => (shape[0] ?? 0) % blockElements === 0;
  if (fits(format)) return format;
  const smaller = required(SMALLER[format.name] ?? format.name);
  return fits(smaller) ? smaller : required('F16');
}

function required(name: string): TensorFormat {
  const format = formatNamed(name);
  invariant(format, `a mix names ${name}, which is no format`);
  return format;
}

/** Formats that are useless without an importance matrix. */
const NEEDS_IMPORTANCE = /^(IQ1_[SM]|IQ2_XXS|IQ2_XS|IQ2_S|IQ3_XXS)$/;

/** Throws `IMPORTANCE_MISSING` for a tensor whose format is useless without one. */
export function checkImportance(tensor: string, format: TensorFormat, { name }: Mix): void {
  if (roleOf(tensor) === 'head' || roleOf(tensor) === 'embedding') return;
  const isNeeded = NEEDS_IMPORTANCE.test(format.name) || (format.name === 'Q2_K' && name === 'Q2_K_S');
  if (isNeeded) fail('IMPORTANCE_MISSING', { tensor, format: format.name, mix: name });
}
