import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { Argument, InvalidArgumentError, Option } from 'commander';
import { formatBytes } from '../../base/bytes.ts';
import { fail } from '../../base/errors.ts';
import { ALL_FORMATS, formatNamed, type TensorFormat } from '../../formats/index.ts';
import type { GgufFile } from '../../gguf/index.ts';
import { usableCores } from '../../node/cpu-threads.ts';
import { openGguf } from '../../node/open-gguf.ts';
import { writeQuantized } from '../../node/quantize-model.ts';
import { readImportance } from '../../quantize/importance-file.ts';
import { MIXES, type Mix, mixNamed } from '../../quantize/mixes.ts';
import { planQuantize, type QuantizePlan } from '../../quantize/quantize-plan.ts';
import { byteProgress } from '../byte-progress.ts';
import type { CliCommand, CommandContext } from '../command.ts';
import { type JsonFlags, jsonOption, wholeNumber } from '../options.ts';
import { openNamed } from '../pull-model.ts';
import { modelName } from './split.ts';

interface QuantizeFlags extends JsonFlags {
  readonly output?: string;
  readonly imatrix?: string;
  readonly requantize?: boolean;
  readonly pure?: boolean;
  readonly outputFormat?: TensorFormat;
  readonly embeddingFormat?: TensorFormat;
  readonly tensorFormat?: readonly (readonly [RegExp, TensorFormat])[];
  readonly threads?: number;
  readonly dryRun?: boolean;
}

/** `rocmforge quantize`: a smaller file of a model. */
export const quantizeCommand: CliCommand<QuantizeFlags> = {
  arguments: [
    new Argument('<model>', 'GGUF file, http(s) address or name: F32, F16 or BF16'),
    new Argument('<mix>', `one of ${MIXES.map(({ name }) => name).join(', ')}`),
  ],
  options: [
    new Option('-o, --output <file>', 'file to write (default: <model>-<mix>.gguf)'),
    new Option('--imatrix <file>', 'importance matrix of the model: a GGUF file, as llama.cpp writes it'),
    new Option('--requantize', 'accept a source that is quantized already, and the loss that this adds'),
    new Option('--pure', 'the same format for all matrices, without the rules of the mix'),
    new Option('--output-format <name>', 'format of output.weight').argParser(encodable),
    new Option('--embedding-format <name>', 'format of the embeddings').argParser(encodable),
    new Option(
      '--tensor-format <pattern=format>',
      'format of the tensors whose names match a regular expression; may be repeated',
    ).argParser(tensorFormat),
    new Option('-t, --threads <count>', 'threads (default: the available physical cores)').argParser(
      wholeNumber(1),
    ),
    new Option('--dry-run', 'only show what would be written'),
    jsonOption(),
  ],
  examples: [
    ['quantize model-f16.gguf Q4_K_M', 'writes model-Q4_K_M.gguf: the usual choice'],
    ['quantize model-f16.gguf IQ4_XS --imatrix model.imatrix.gguf', 'fewer bits, spent where they matter'],
    ['quantize model-q8_0.gguf Q4_K_M --requantize', 'from a file that is quantized already'],
    ['quantize model-f16.gguf Q4_K_M --tensor-format "ffn_down=Q6_K" --dry-run', 'how large it would be'],
  ],
  async run({ args, flags }, context) {
    const [location, mixName] = args as [string, string];
    const mix = mixNamed(mixName) ?? unknownMix(mixName);
    await using gguf = await openNamed(location, {}, context);
    const path = flags.output ?? defaultPath(gguf, mix);
    const plan = planQuantize(gguf, {
      mix,
      pure: flags.pure,
      requantize: flags.requantize,
      outputFormat: flags.outputFormat,
      embeddingFormat: flags.embeddingFormat,
      tensorFormats: flags.tensorFormat,
      importance: await importanceOf(flags.imatrix, context),
    });
    if (flags.dryRun) return report({ gguf, mix, plan, path: undefined, flags }, context);
    await checkNotSource(gguf, path);
    const begin = performance.now();
    await write({ gguf, plan, path, threads: flags.threads }, context);
    const seconds = (performance.now() - begin) / 1000;
    return report({ gguf, mix, plan, path, flags, seconds }, context);
  },
};

async function importanceOf(path: string | undefined, { signal }: CommandContext) {
  if (path === undefined) return undefined;
  await using gguf = await openGguf(path, { signal });
  // Awaited here: the file is closed on return.
  return await readImportance(gguf, signal);
}

interface Writing {
  readonly gguf: GgufFile;
  readonly plan: QuantizePlan;
  readonly path: string;
  readonly threads: number | undefined;
}

async function write({ gguf, plan, path, threads = usableCores() }: Writing, context: CommandContext) {
  const { output, signal } = context;
  const labels = { doing: 'quantizing', done: 'quantized', name: basename(gguf.name) };
  const display = await byteProgress(output, labels);
  try {
    await writeQuantized(gguf, plan, { path, threads, signal, onProgress: display.show });
  } finally {
    display.clear();
  }
}

interface Report {
  readonly gguf: GgufFile;
  readonly mix: Mix;
  readonly plan: QuantizePlan;
  /** What was written; absent if nothing was. */
  readonly path: string | undefined;
  readonly flags: QuantizeFlags;
  readonly seconds?: number;
}

async function report({ gguf, mix, plan, path, flags, seconds }: Report, { output }: CommandContext) {
  const tensors = plan.changes.map(({ tensor, format }) => ({
    name: tensor.name,
    shape: tensor.shape,
    from: tensor.format.name,
    format: format.name,
    byteLength: (tensor.elementCount / format.blockElements) * format.blockBytes,
  }));
  const byteLength = tensors.reduce((sum, tensor) => sum + tensor.byteLength, 0);
  const before = gguf.tensors.reduce((sum, tensor) => sum + tensor.byteLength, 0);
  const elements = gguf.tensors.reduce((sum, { elementCount }) => sum + elementCount, 0);
  const bitsPerWeight = (8 * byteLength) / elements;
  if (flags.json) {
    await output.json({ path, mix: mix.name, before, byteLength, bitsPerWeight, seconds, tensors });
    return undefined;
  }
  const counts = new Map<string, number>();
  for (const { format } of tensors) counts.set(format, (counts.get(format) ?? 0) + 1);
  const formats = [...counts].map(([name, count]) => `${count} in ${name}`).join(', ');
  const size = `${formatBytes(before)} become ${formatBytes(byteLength)}, ${bitsPerWeight.toFixed(2)} bits a weight`;
  const took = seconds === undefined ? '' : ` in ${seconds.toFixed(1)} s`;
  await output.line(`${path ?? mix.name}: ${size}${took}`);
  await output.line(`tensors: ${formats}`);
  return undefined;
}

/** `llama-f16.gguf` becomes `llama-Q4_K_M.gguf` in the current folder. */
function defaultPath(gguf: GgufFile, mix: Mix): string {
  const name = modelName(gguf);
  const [, base = name] = /^(.*)[-.](?:F32|F16|BF16|I?Q\d\w*)$/i.exec(name) ?? [];
  return `${base}-${mix.name}.gguf`;
}

/** The file that is read must not be written over: nothing would be left of it that is not quantized. */
async function checkNotSource(gguf: GgufFile, path: string): Promise<void> {
  const target = await stat(path).catch(() => undefined);
  for (const { source } of target ? gguf.parts : []) {
    const own = await stat(source.name).catch(() => undefined);
    if (own && own.ino === target?.ino && own.dev === target.dev) {
      fail('INVALID_ARGUMENT', { name: '--output', found: path, expected: 'another file than the source' });
    }
  }
}

function unknownMix(found: string): never {
  const expected = `one of ${MIXES.map(({ name }) => name).join(', ')}`;
  return fail('INVALID_ARGUMENT', { name: 'mix', found, expected });
}

function encodable(name: string): TensorFormat {
  const format = formatNamed(name);
  if (format?.encode) return format;
  const known = ALL_FORMATS.filter(({ encode }) => encode).map((one) => one.name);
  throw new InvalidArgumentError(`Expected one of ${known.join(', ')}.`);
}

function tensorFormat(
  text: string,
  before: readonly (readonly [RegExp, TensorFormat])[] = [],
): readonly (readonly [RegExp, TensorFormat])[] {
  const [, pattern, name] = /^(.+)=([^=]+)$/.exec(text) ?? [];
  if (pattern === undefined || name === undefined) {
    throw new InvalidArgumentError('Expected a pattern and a format, such as ffn_down=Q6_K.');
  }
  try {
    return [...before, [new RegExp(pattern), encodable(name)]];
  } catch (error) {
    if (error instanceof InvalidArgumentError) throw error;
    throw new InvalidArgumentError(`${pattern} is no regular expression.`);
  }
}
