import { fail } from '../base/errors.ts';
import { F16, F32, I8, MXFP4, type TensorFormat } from '../formats/index.ts';
import type { PlannedTensor } from '../gguf/index.ts';
import type { CheckpointConfig } from './checkpoint-config.ts';
import { invalid, type StoredTensor } from './checkpoint.ts';
import type { CheckpointFamily, TensorChange } from './family.ts';

/** Units of a stored tensor, and what is done to them. */
export interface TensorPiece {
  readonly stored: StoredTensor;
  /** Elements of a row in the file: a whole number of units. */
  readonly columns: number;
  /** Elements that stay together. */
  readonly unit: number;
  readonly units: number;
  /** The number of the stored unit by that in the file; absent if they are the same. */
  readonly order?: ((unit: number) => number) | undefined;
  /** Applied to each value. */
  readonly value?: ((value: number) => number) | undefined;
  /** Of MXFP4: a byte for each of the units' blocks. */
  readonly scales?: StoredTensor | undefined;
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

const BLOCKS = '_blocks';
const SCALES = '_scales';

/** The tensors of the file, and the names of those that it does not get. Throws `CONVERT_UNSUPPORTED` or `CHECKPOINT_INVALID`. */
export function planTensors(
  stored: readonly StoredTensor[],
  choices: TensorChoices,
): { tensors: ConvertedTensor[]; left: string[] } {
  const { family, config } = choices;
  const tensors: ConvertedTensor[] = [];
  const left: string[] = [];
  const experts = new Map<string, Map<number, StoredTensor>>();
  const byName = new Map(stored.map((tensor) => [tensor.name, tensor]));
  for (const [name, values] of family.extra?.(config) ?? []) {
    tensors.push({ name, format: F32, shape: [values.length], pieces: [], values });
  }
  for (const tensor of stored) {
    const own = LEFT_OUT.test(tensor.name) ? undefined : ownName(tensor, choices);
    if (own === undefined) {
      left.push(tensor.name);
      continue;
    }
    if (family.hasMxfp4 && own.endsWith(SCALES) && byName.has(tensor.name.replace(SCALES, BLOCKS))) continue;
    const scales = family.hasMxfp4 && byName.get(tensor.name.replace(BLOCKS, SCALES));
    for (const { name, expert } of targetsOf(own, tensor, family)) {
      if (expert !== undefined) {
        experts.set(name, (experts.get(name) ?? new Map<number, StoredTensor>()).set(expert, tensor));
      } else if (scales && own.endsWith(BLOCKS)) {
        tensors.push(packed({ name, own }, tensor, scales, choices));
      } else {
        tensors.push(converted({ name, own }, [tensor], choices));
      }
    }
  }
  const count = config.optional('num_local_experts', 'num_experts') ?? 0;
  for (const [name, all] of experts) {
    const stack = Array.from({ length: count }, (_, expert) => {
      return all.get(expert) ?? invalid('safetensors', `no expert ${expert} of ${name}`, `${count} experts`);
    });
    if (all.size > count) invalid('safetensors', `${all.size} experts of ${name}`, `${count} experts`);
    tensors.push(converted({ name, own: stack[0]?.name ?? name }, stack, choices, true));
  }
  return { tensors, left };
}

/** The usual name; undefined if the family leaves the tensor out. */
function ownName({ name }: StoredTensor, { family, config }: TensorChoices): string | undefined {
  const own = name.replace('language_model.', '');
  return family.rename ? family.rename(own, config) : own;
}

/** The names in the file, and which expert's it is. */
function targetsOf(
  own: string,
  { name }: StoredTensor,
  { tensors, classes }: CheckpointFamily,
): { name: string; expert?: number }[] {
  const [, path = own, suffix] = /^(.*)\.(weight|bias)$/.exec(own) ?? [];
  const [layer = '', expert] = [...own.matchAll(/\.(\d+)(?=\.)/g)].map(([, number]) => number);
  const patternOf = (text: string) =>
    text.replace(/\.(layers?)\.\d+\./, '.$1.{}.').replace(/\.experts\.\d+\./, '.experts.{e}.');
  const find = (pattern: string) => (Object.hasOwn(tensors, pattern) ? tensors[pattern] : undefined);
  const whole = find(patternOf(own));
  const known = whole ?? (suffix === undefined ? undefined : find(patternOf(path)));
  if (known === undefined) {
    return fail('CONVERT_UNSUPPORTED', {
      what: 'tensor',
      found: name,
      expected: `a tensor of ${classes[0]}`,
    });
  }
  return [known].flat().map((target) => {
    const base = `${target.replace('{}', layer)}${whole === undefined ? `.${suffix}` : ''}`;
    return expert === undefined ? { name: base } : { name: base, expert: Number(expert) };
  });
}

function converted(
  { name, own }: { name: string; own: string },
  stored: readonly StoredTensor[],
  choices: TensorChoices,
  isStack = false,
): ConvertedTensor {
  const [first] = stored as readonly [StoredTensor];
  const bytes = stored.find(({ format }) => format === I8);
  if (bytes) {
    const expected = 'F32, F16 or BF16';
    fail('CONVERT_UNSUPPORTED', { what: `tensor ${bytes.name}`, found: 'U8', expected });
  }
  const other = stored.find(({ shape }) => shape.join() !== first.shape.join());
  if (other) invalid('safetensors', `${other.name} of ${other.shape.join(' x ')}`, first.shape.join(' x '));
  const { family, config } = choices;
  const change = family.change?.({ name: own, target: name, shape: first.shape, config }) ?? {};
  const one = change.shape ?? first.shape;
  const pieces = stored.map((tensor) => pieceOf(tensor, one, change));
  const shape = isStack ? [stored.length, ...one] : one;
  return { name, format: formatOf(name, shape, choices), shape: shape.toReversed(), pieces };
}

function pieceOf(stored: StoredTensor, shape: readonly number[], change: TensorChange): TensorPiece {
  const { order, value } = change;
  const elements = sizeOf(shape);
  const columns = shape.at(-1) ?? 1;
  const unit = change.unit ?? (order && shape.length === 1 ? 1 : columns);
  if (elements > sizeOf(stored.shape) || columns % unit !== 0) {
    invalid('safetensors', `${stored.name} of ${stored.shape.join(' x ')}`, shape.join(' x '));
  }
  return { stored, columns, unit, units: elements / unit, order, value };
}

/** Blocks and scales as one tensor in MXFP4: sixteen bytes and one for 32 elements. */
function packed(
  { name, own }: { name: string; own: string },
  blocks: StoredTensor,
  scales: StoredTensor,
  { family, config }: TensorChoices,
): ConvertedTensor {
  const [experts = 0, , groups = 0, bytes = 0] = blocks.shape;
  const isPair = bytes === MXFP4.blockBytes - 1 && scales.shape.join() === blocks.shape.slice(0, 3).join();
  if (!isPair || blocks.format !== I8 || scales.format !== I8 || blocks.shape.length !== 4) {
    const found = `${blocks.format.name} of ${blocks.shape.join(' x ')} with scales of ${scales.shape.join(' x ')}`;
    return invalid('safetensors', `${blocks.name}: ${found}`, '16 bytes and a scale for 32 weights');
  }
  const columns = groups * MXFP4.blockElements;
  const change = family.change?.({ name: own, target: name, shape: blocks.shape, config });
  const rows = change?.shape?.[1] ?? blocks.shape[1] ?? 0;
  const units = { unit: columns, units: experts * rows, order: change?.order };
  const pieces = [{ stored: blocks, scales, columns, ...units }];
  return { name, format: MXFP4, shape: [columns, rows, experts], pieces };
}

function sizeOf(shape: readonly number[]): number {
  return shape.reduce((product, size) => product * size, 1);
}

/** Vectors, norms, biases and routers are f32, as in llama.cpp's files; rows of no whole blocks are f16. */
function formatOf(name: string, shape: readonly number[], { family, format }: TensorChoices): TensorFormat {
  const isPlain = shape.length <= 1 || name.endsWith('_norm.weight') || !name.endsWith('.weight');
  if (isPlain || family.alwaysF32?.some((part) => `.${name}`.endsWith(`.${part}.weight`))) return F32;
  return (shape.at(-1) ?? 1) % format.blockElements === 0 ? format : F16;
}
