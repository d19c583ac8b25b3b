import { fail } from '../base/errors.ts';
import type { GgufFile } from '../gguf/index.ts';
import { memoryTensor } from '../gguf/memory-tensor.ts';
import { loadTensorBytes, type TensorInfo } from '../gguf/tensor-info.ts';
import type { ByteSource } from '../io/index.ts';
import { ConfigReader } from './config-reader.ts';
import { EMBEDDING_TABLE } from './embedding-place.ts';
import type { ModelConfig } from './model-config.ts';
import type { TensorIndex } from './part-scope.ts';
import { readDflash, unsupportedDflash } from './stacks/dflash.ts';
import { DRAFTER_PREFIX, type DrafterFile, readEagle3 } from './stacks/eagle3.ts';
import { readAssistant } from './stacks/gemma4-assistant.ts';

export { DRAFTER_PREFIX } from './stacks/eagle3.ts';

/** The key of the width of the model's rows. */
const WIDTH_KEYS = {
  features: 'target_hidden_size',
  masks: 'embedding_length',
  caches: 'embedding_length_out',
} as const;

/** The logit of tokens that are not in a drafter's vocabulary: none is ever drawn, at whatever temperature. */
const NEVER = -1e4;

/**
 * A drafter that reads what the layers of a model compute, and is one of its parts (EAGLE-3, DFlash): its file, and its tensors by
 * the names that they have beside the model's.
 */
export interface Drafter extends DrafterFile {
  readonly gguf: GgufFile;
  readonly read: ConfigReader;
  readonly tensors: TensorIndex;
}

/** What a drafter needs to know of its model. */
export interface DraftedModel {
  readonly gguf: GgufFile;
  readonly config: ModelConfig;
}

/**
 * Reads a drafter's file; undefined if the file is a model of its own. Rejects with `DRAFT_UNSUPPORTED` for a drafter of
 * another kind or of another model, with `DRAFT_VOCABULARY`, `MODEL_CONFIG` or errors of reading.
 */
export async function readDrafter(gguf: GgufFile, model: DraftedModel): Promise<Drafter | undefined> {
  const architecture = gguf.metadata.string('general.architecture');
  const readFile = DRAFTERS.get(architecture ?? '');
  if (!architecture || !readFile) return undefined;
  const other = architecture === 'dflash' ? unsupportedDflash(gguf) : undefined;
  if (other !== undefined) {
    const expected = 'a plain DFlash drafter, an EAGLE-3 drafter or a model';
    fail('DRAFT_UNSUPPORTED', { model: gguf.name, found: other, expected });
  }
  const wanted = ARCHITECTURES.get(architecture);
  if (wanted !== undefined && model.config.architecture !== wanted) {
    const expected = `a draft of ${model.config.architecture}`;
    fail('DRAFT_UNSUPPORTED', { model: gguf.name, found: `a draft of ${wanted}`, expected });
  }
  const read = new ConfigReader(gguf.metadata, architecture);
  const file = readFile(read, { hasTensor: (name) => gguf.tensor(name) !== undefined, model: model.config });
  checkFeatures(gguf, file, model);
  const tensors = new Map(
    gguf.tensors.map((tensor) => {
      const name = DRAFTER_PREFIX + tensor.name;
      return [name, { ...tensor, name }] as const;
    }),
  );
  const ids = gguf.tensor('d2t');
  if (ids) {
    tensors.delete(`${DRAFTER_PREFIX}d2t`);
    const vocabulary = model.gguf.requireTensor(EMBEDDING_TABLE).shape[1] ?? 0;
    for (const tensor of await scattered(gguf, ids, vocabulary)) tensors.set(tensor.name, tensor);
  }
  return { ...file, gguf, read, tensors };
}

/** What a kind of drafter's file is read with. */
interface DrafterSource {
  readonly hasTensor: (name: string) => boolean;
  readonly model: ModelConfig;
}

/** The kinds of drafters that are parts of their model, by `general.architecture`. */
const DRAFTERS: ReadonlyMap<string, (read: ConfigReader, of: DrafterSource) => DrafterFile> = new Map<
  string,
  (read: ConfigReader, of: DrafterSource) => DrafterFile
>([
  ['eagle3', readEagle3],
  ['dflash', (read, { hasTensor }) => readDflash(read, hasTensor)],
  ['gemma4-assistant', (read, { model }) => readAssistant(read, model)],
]);

/** The architecture of the models of a kind of drafter that has one alone. */
const ARCHITECTURES: ReadonlyMap<string, string> = new Map([['gemma4-assistant', 'gemma4']]);

/** Throws `DRAFT_UNSUPPORTED` if the model does not have what the drafter reads. */
function checkFeatures(
  gguf: GgufFile,
  { predictor }: DrafterFile,
  { gguf: own, config: { width, layers, head, embedding } }: DraftedModel,
): void {
  const refuse = (found: string, expected: string) =>
    fail('DRAFT_UNSUPPORTED', { model: gguf.name, found, expected });
  if (embedding.streams !== undefined) refuse('a drafter of layers', 'a model of one residual stream');
  const { features, featureWidth } = predictor;
  if (head.kind !== 'logits') refuse('a drafter', 'no draft for a model that does not continue texts');
  const size = WIDTH_KEYS[predictor.kind];
  if (featureWidth !== width) refuse(`${size} ${featureWidth}`, `${width} as in the model`);
  const beyond = features.find((layer) => !(Number.isInteger(layer) && layer >= 0 && layer <= layers.length));
  if (beyond !== undefined) refuse(`target layer ${beyond}`, `at most ${layers.length} as in the model`);
  if (predictor.kind === 'masks') {
    const vocabulary = own.requireTensor(EMBEDDING_TABLE).shape[1] ?? 0;
    const isToken = Number.isInteger(predictor.mask) && predictor.mask >= 0 && predictor.mask < vocabulary;
    if (!isToken) refuse(`mask_token_id ${predictor.mask}`, `a token below ${vocabulary}`);
  }
  const isShared = !gguf.tensor(EMBEDDING_TABLE) || !gguf.tensor('output.weight');
  if (isShared && predictor.kind !== 'caches' && predictor.width !== width)
    refuse(`width ${predictor.width} without an embedding or output of its own`, `${width} as in the model`);
}

/**
 * The output matrix with the rows of a small vocabulary at the places of the model's, and a bias that forbids the others:
 * draft tokens are then drawn like the model's own, by the same random numbers.
 */
async function scattered(gguf: GgufFile, ids: TensorInfo, vocabulary: number): Promise<TensorInfo[]> {
  const output = gguf.requireTensor('output.weight');
  const [columns = 0] = output.shape;
  const rows = new Int32Array(vocabulary).fill(-1);
  if (ids.format.name !== 'I64') {
    const params = { draft: gguf.name, found: `d2t as ${ids.format.name}`, expected: 'I64' };
    fail('DRAFT_VOCABULARY', params);
  }
  const bytes = await loadTensorBytes(ids);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let row = 0; row < ids.elementCount; row++) {
    const id = Number(view.getBigInt64(8 * row, true));
    if (id < 0 || id >= vocabulary || rows[id] !== -1) {
      const found = `${id} in a vocabulary of ${vocabulary}`;
      fail('DRAFT_VOCABULARY', { draft: gguf.name, found, expected: 'ids of the model, each once (d2t)' });
    }
    rows[id] = row;
  }
  const rowBytes = output.byteLength / ids.elementCount;
  const bias = Float32Array.from(rows, (row) => (row < 0 ? NEVER : 0));
  const shared = { elementCount: columns * vocabulary, byteLength: rowBytes * vocabulary, offset: 0 };
  const source = new ScatteredRows(output, { rows, rowBytes });
  return [
    { ...output, ...shared, name: `${DRAFTER_PREFIX}output.weight`, shape: [columns, vocabulary], source },
    memoryTensor(`${DRAFTER_PREFIX}output.bias`, bias, [vocabulary]),
  ];
}

/** A tensor's rows in another order, with rows of zero bytes, which are zeros in each format. */
class ScatteredRows implements ByteSource {
  readonly #tensor: TensorInfo;
  /** The tensor's row at each place; -1 for zeros. */
  readonly #rows: Int32Array;
  readonly #rowBytes: number;

  constructor(tensor: TensorInfo, { rows, rowBytes }: { rows: Int32Array; rowBytes: number }) {
    this.#tensor = tensor;
    this.#rows = rows;
    this.#rowBytes = rowBytes;
  }

  get name(): string {
    return this.#tensor.source.name;
  }

  get size(): number {
    return this.#rows.length * this.#rowBytes;
  }

  async read(offset: number, into: Uint8Array, signal?: AbortSignal): Promise<void> {
    const { source, offset: begin } = this.#tensor;
    const size = this.#rowBytes;
    into.fill(0);
    for (let at = offset; at < offset + into.byteLength;) {
      const place = Math.floor(at / size);
      const within = at - place * size;
      const length = Math.min(size - within, offset + into.byteLength - at);
      const row = this.#rows[place] ?? -1;
      const part = into.subarray(at - offset, at - offset + length);
      if (row >= 0) await source.read(begin + row * size + within, part, signal);
      at += length;
    }
  }

  /** The file is its owner's. */
  async dispose(): Promise<void> {}

  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose();
  }
}
