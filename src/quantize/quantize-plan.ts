import { fail } from '../base/errors.ts';
import type { TensorFormat } from '../formats/index.ts';
import type { GgufFile, GgufPlan, GgufValue, TensorInfo } from '../gguf/index.ts';
import { checkImportance, chooseFormats, type FormatChoices } from './choose-formats.ts';

/** How much the errors of each column of matrices count, and where that is known from. */
export interface ImportanceMatrix {
  readonly file: string;
  readonly datasets: readonly string[];
  readonly chunks: number;
  /** By name of a tensor: a number per column, for each expert one after another. */
  readonly columns: ReadonlyMap<string, Float32Array>;
}

/** What a file becomes. */
export interface QuantizeChoices extends Omit<FormatChoices, 'hasImportance'> {
  readonly importance?: ImportanceMatrix | undefined;
  /** Whether tensors that are quantized may be quantized again. */
  readonly requantize?: boolean | undefined;
}

/** A tensor, and the format that it gets. */
export interface TensorChange {
  readonly tensor: TensorInfo;
  readonly format: TensorFormat;
  readonly importance: Float32Array | undefined;
}

/** The changes of a file, tensor by tensor in its order, and the file that comes of them. */
export interface QuantizePlan {
  readonly changes: readonly TensorChange[];
  readonly plan: GgufPlan;
}

/** The version of block formats that `general.quantization_version` names. */
const QUANTIZATION_VERSION = 2;

/**
 * Decides what each tensor of a file becomes. Throws `ALREADY_QUANTIZED`, `IMPORTANCE_MISSING` or
 * `IMPORTANCE_MISMATCH`.
 */
export function planQuantize(gguf: GgufFile, choices: QuantizeChoices): QuantizePlan {
  const { importance, mix, requantize = false } = choices;
  const formats = chooseFormats(gguf, { ...choices, hasImportance: importance !== undefined });
  const changes = gguf.tensors.map((tensor): TensorChange => {
    const format = formats.get(tensor.name) ?? tensor.format;
    if (format === tensor.format) return { tensor, format, importance: undefined };
    if (tensor.format.layout && !requantize) {
      fail('ALREADY_QUANTIZED', {
        tensor: tensor.name,
        found: tensor.format.name,
        expected: format.name,
      });
    }
    const columns = importance?.columns.get(tensor.name);
    if (!columns) checkImportance(tensor.name, format, mix);
    return { tensor, format, importance: columns && checked(tensor, columns) };
  });
  const tensors = changes.map(({ tensor: { name, shape }, format }) => ({ name, shape, format }));
  return { changes, plan: { metadata: metadataOf(gguf, choices), tensors } };
}

function checked({ name, shape }: TensorInfo, columns: Float32Array): Float32Array | undefined {
  const [width = 1, , experts = 1] = shape;
  const isTable = name.endsWith('token_embd.weight');
  if (columns.length !== width * experts) {
    // A table of embeddings has rows looked up, not multiplied: what was seen there is the output matrix's use of it.
    if (isTable) return undefined;
    const expected = `${width * experts} numbers`;
    fail('IMPORTANCE_MISMATCH', { tensor: name, found: `${columns.length}`, expected });
  }
  const wrong = columns.findIndex((value) => !(value >= 0 && Number.isFinite(value)));
  if (wrong >= 0) {
    const found = `${columns[wrong]} at ${wrong}`;
    fail('IMPORTANCE_MISMATCH', { tensor: name, found, expected: 'finite numbers, none negative' });
  }
  return columns;
}

/** The metadata of the source, without what tied its parts together, and with what changed. */
function* metadataOf(
  { metadata }: GgufFile,
  { mix, importance }: QuantizeChoices,
): Generator<readonly [string, GgufValue]> {
  const changed = new Map<string, GgufValue>([
    ['general.quantization_version', { type: 'u32', value: QUANTIZATION_VERSION }],
    ['general.file_type', { type: 'u32', value: mix.fileType }],
  ]);
  if (importance) {
    changed.set('quantize.imatrix.file', { type: 'string', value: importance.file });
    changed.set('quantize.imatrix.dataset', { type: 'string', value: importance.datasets.join(', ') });
    changed.set('quantize.imatrix.entries_count', { type: 'u32', value: importance.columns.size });
    changed.set('quantize.imatrix.chunks_count', { type: 'u32', value: importance.chunks });
  }
  for (const key of metadata.keys()) {
    const value = metadata.encoded(key);
    if (value && !key.startsWith('split.') && !changed.has(key)) yield [key, value];
  }
  yield* changed;
}
