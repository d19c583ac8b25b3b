import { fail } from '../base/errors.ts';
import { F16, F32, type TensorFormat } from '../formats/index.ts';
import type { PlannedTensor } from '../gguf/index.ts';
import type { CheckpointConfig } from './checkpoint-config.ts';
import { invalid, type StoredTensor } from './checkpoint.ts';
import type { CheckpointFamily, RowChange } from './family.ts';

/** Rows of a stored tensor, and what is done to them. */
export interface TensorPiece {
  readonly stored: StoredTensor;
  readonly rows: number;
  readonly columns: number;
  readonly add: number;
  /** See `RowChange`; 1 if rows keep their order. */
  readonly headRows: number;
}

/** A tensor of the file: pieces one after another, or values that no checkpoint has. */
export interface ConvertedTensor extends PlannedTensor {
  readonly pieces: readonly TensorPiece[];
  readonly values?: Float32Array | undefined;
}

/** What tensors become. */
interface TensorChoices {
  readonly family: CheckpointFamily;
  readonly config: CheckpointConfig;
  readonly format: TensorFormat;
}

/** Parts of names of models that see or hear, of which only the language model is converted; and of buffers. */
const LEFT_OUT =
  /vision|visual\.|audio|projector|image_newline|\.(rotary_emb\.inv_freq|attention\.masked_bias|attention\.bias)$/;

/** The tensors of the file, and the names of those that it does not get. Throws `CONVERT_UNSUPPORTED` or `CHECKPOINT_INVALID`. */
export function planTensors(
  stored: readonly StoredTensor[],
  choices: TensorChoices,
): { tensors: ConvertedTensor[]; left: string[] } {
  const { family, config } = choices;
  const tensors: ConvertedTensor[] = [];
  const left: string[] = [];
  const experts = new Map<string, Map<number, StoredTensor>>();
  for (const [name, values] of family.extra?.(config) ?? []) {
    tensors.push({ name, format: F32, shape: [values.length], pieces: [], values });
  }
  for (const tensor of stored) {
    if (LEFT_OUT.test(tensor.name)) {
      left.push(tensor.name);
      continue;
    }
    const { name, expert } = nameOf(tensor, family);
    if (expert === undefined) tensors.push(converted(name, [tensor], choices));
    else experts.set(name, (experts.get(name) ?? new Map<number, StoredTensor>()).set(expert, tensor));
  }
  const count = config.optional('num_local_experts', 'num_experts') ?? 0;
  for (const [name, all] of experts) {
    const stack = Array.from({ length: count }, (_, expert) => {
      return all.get(expert) ?? invalid('safetensors', `no expert ${expert} of ${name}`, `${count} experts`);
    });
    if (all.size > count) invalid('safetensors', `${all.size} experts of ${name}`, `${count} experts`);
    tensors.push(converted(name, stack, choices, true));
  }
  return { tensors, left };
}

/** The name in the file, and which expert's it is. */
function nameOf(
  { name }: StoredTensor,
  { tensors, classes }: CheckpointFamily,
): { name: string; expert?: number } {
  const own = name.replace('language_model.', '');
  const [, path = '', suffix = ''] = /^(.*)\.(weight|bias)$/.exec(own) ?? [];
  const [layer, expert] = [...path.matchAll(/\.(\d+)(?=\.)/g)].map(([, number]) => number);
  const pattern = path.replace(/\.layers\.\d+\./, '.layers.{}.').replace(/\.experts\.\d+\./, '.experts.{e}.');
  const known = Object.hasOwn(tensors, pattern) ? tensors[pattern] : undefined;
  if (known === undefined) {
    const expected = `a tensor of ${classes[0]}`;
    return fail('CONVERT_UNSUPPORTED', { what: 'tensor', found: name, expected });
  }
  const base = `${known.replace('{}', layer ?? '')}.${suffix}`;
  return expert === undefined ? { name: base } : { name: base, expert: Number(expert) };
}

function converted(
  name: string,
  stored: readonly StoredTensor[],
  choices: TensorChoices,
  isStack = false,
): ConvertedTensor {
  const [first] = stored as readonly [StoredTensor];
  const other = stored.find(({ shape }) => shape.join() !== first.shape.join());
  if (other) invalid('safetensors', `${other.name} of ${other.shape.join(' x ')}`, first.shape.join(' x '));
  const change = choices.family.change?.(first.name, first, choices.config) ?? {};
  const own = shapeOf(first, change);
  const shape = isStack ? [stored.length, ...own] : own;
  const pieces = stored.map((tensor) => pieceOf(tensor, own, change));
  return { name, format: formatOf(name, shape, choices), shape: shape.toReversed(), pieces };
}

function shapeOf(stored: StoredTensor, { shape = stored.shape, rows }: RowChange): readonly number[] {
  const [first = 1, ...rest] = shape;
  return rows === undefined ? shape : [Math.min(rows, first), ...rest];
}

function pieceOf(
  stored: StoredTensor,
  shape: readonly number[],
  { add = 0, headRows = 1 }: RowChange,
): TensorPiece {
  const elements = shape.reduce((product, size) => product * size, 1);
  // The values of a vector are rows if they change places.
  const columns = shape.length === 1 && headRows > 1 ? 1 : (shape.at(-1) ?? 1);
  const rows = elements / columns;
  if (headRows > 1 && (headRows % 2 !== 0 || rows % headRows !== 0)) {
    invalid('safetensors', `${stored.name} of ${rows} rows`, `heads of ${headRows}`);
  }
  return { stored, rows, columns, add, headRows };
}

/** Vectors, norms, biases and routers are f32, as in llama.cpp's files; rows of no whole blocks are f16. */
function formatOf(name: string, shape: readonly number[], { family, format }: TensorChoices): TensorFormat {
  const isPlain = shape.length <= 1 || name.endsWith('_norm.weight') || !name.endsWith('.weight');
  if (isPlain || family.alwaysF32?.some((part) => name.endsWith(`.${part}.weight`))) return F32;
  return (shape.at(-1) ?? 1) % format.blockElements === 0 ? format : F16;
}
