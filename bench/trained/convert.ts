import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { F16, F32, formatNamed, type TensorFormat } from '../../src/formats/index.ts';
import { type GgufValue, GgufWriter } from '../../src/gguf/index.ts';
import { FileSink } from '../../src/node/file-sink.ts';
import { TRAINED_FAMILIES, type TrainedConfig } from './families.ts';
import { readSafetensors, type Weight } from './safetensors.ts';

// A GGUF file of what `train.py` wrote: `node dist/bench/trained/convert.js <folder>/<family> [--format f16]
// [--no-draft] [-o file.gguf]`. Matrices are in the format, where their rows allow; all else is F32.

interface Trained {
  readonly family: string;
  readonly config: TrainedConfig;
  readonly tokenizer: {
    readonly vocab: Record<string, number>;
    readonly merges: readonly (readonly [string, string])[];
  };
}

interface Converted {
  readonly name: string;
  readonly weight: Weight;
  readonly format: TensorFormat;
}

/** Formats for rows that the wanted one's blocks do not fit, best first. */
const FALLBACKS = ['Q5_0', 'Q8_0', 'F16'];
const UNQUANTIZED = /norm|conv1d|ffn_gate_inp|exp_probs_b|ssm_a$|ssm_d$/;

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    format: { type: 'string', default: 'f16' },
    output: { type: 'string', short: 'o' },
    'no-draft': { type: 'boolean', default: false },
  },
});
const [base] = positionals;
const format = formatNamed(options.format.toUpperCase());
if (!base || !format?.encode)
  throw new Error('Usage: convert <folder>/<family> [--format f16|q8_0|q4_k] [-o file]');
const trained = JSON.parse(readFileSync(`${base}.json`, 'utf8')) as Trained;
const family = TRAINED_FAMILIES[trained.family];
if (!family) throw new Error(`No family "${trained.family}".`);
await write(options.output ?? `${base}-${options.format}.gguf`, tensorsOf());

function tensorsOf(): Converted[] {
  const tensors: Converted[] = [];
  for (const [name, weight] of readSafetensors(`${base}.safetensors`)) {
    if (options['no-draft'] && name.startsWith('mtp.')) continue;
    for (const [target, value] of Object.entries(family?.tensors(name, weight, trained.config) ?? {})) {
      tensors.push({ name: target, weight: value, format: formatFor(target, value.shape) });
    }
  }
  return tensors;
}

function formatFor(name: string, shape: readonly number[]): TensorFormat {
  if (shape.length < 2 || !name.endsWith('.weight') || UNQUANTIZED.test(name)) return F32;
  const width = shape.at(-1) ?? 1;
  const fitting = [options.format.toUpperCase(), ...FALLBACKS].map((each) => formatNamed(each));
  return fitting.find((each) => each && width % each.blockElements === 0) ?? F16;
}

function metadata(): [string, GgufValue][] {
  const architecture = family?.architecture ?? '';
  const below = { ...family?.metadata(trained.config) };
  if (options['no-draft'] && below.nextn_predict_layers) {
    delete below.nextn_predict_layers;
    below.block_count = { type: 'u32', value: Number(trained.config.num_hidden_layers) };
  }
  const { vocab, merges } = trained.tokenizer;
  const tokens = Object.keys(vocab).sort((a, b) => (vocab[a] ?? 0) - (vocab[b] ?? 0));
  return [
    ['general.architecture', { type: 'string', value: architecture }],
    ['general.name', { type: 'string', value: `${trained.family}, trained on Shakespeare for a minute` }],
    ...Object.entries(below).map(([key, value]): [string, GgufValue] => [`${architecture}.${key}`, value]),
    ['tokenizer.ggml.model', { type: 'string', value: 'gpt2' }],
    ['tokenizer.ggml.pre', { type: 'string', value: 'gpt-2' }],
    ['tokenizer.ggml.tokens', { type: 'array', element: 'string', values: tokens }],
    [
      'tokenizer.ggml.token_type',
      { type: 'array', element: 'i32', values: tokens.map((_, id) => (id === 0 ? 3 : 1)) },
    ],
    [
      'tokenizer.ggml.merges',
      { type: 'array', element: 'string', values: merges.map((pair) => pair.join(' ')) },
    ],
    ['tokenizer.ggml.bos_token_id', { type: 'u32', value: 0 }],
    ['tokenizer.ggml.eos_token_id', { type: 'u32', value: 0 }],
    ['tokenizer.ggml.add_bos_token', { type: 'bool', value: false }],
  ];
}

async function write(path: string, tensors: readonly Converted[]): Promise<void> {
  const plan = {
    metadata: metadata(),
    tensors: tensors.map(({ name, weight, format }) => ({ name, format, shape: weight.shape.toReversed() })),
  };
  await using sink = await FileSink.create(path);
  const writer = await GgufWriter.begin(sink, plan);
  for (const { weight, format } of tensors) {
    const blocks = weight.values.length / format.blockElements;
    const bytes = new Uint8Array(blocks * format.blockBytes);
    format.encode?.(weight.values, 0, bytes, 0, blocks);
    await writer.write(bytes);
  }
  writer.end();
  console.log(`${path}: ${(writer.layout.byteLength / 1e6).toFixed(2)} MB`);
}
