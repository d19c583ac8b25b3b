import { basename } from 'node:path';
import { Option } from 'commander';
import { fail } from '../../base/errors.ts';
import { openNullDevice } from '../../devices/null/index.ts';
import { ImportanceCollector } from '../../evaluate/importance-collector.ts';
import { perplexityChunks } from '../../evaluate/perplexity.ts';
import type { GgufFile } from '../../gguf/index.ts';
import { ALL_ARCHITECTURES } from '../../model/architectures/index.ts';
import { bundledModel } from '../../node/bundled-model.ts';
import { writeWhole } from '../../node/write-whole.ts';
import { describeModel } from '../../plan/parts/plan-options.ts';
import { type ProductInput, productInputs } from '../../plan/taps/product-inputs.ts';
import { writeImportance } from '../../quantize/importance-file.ts';
import type { CliCommand } from '../command.ts';
import { loadFromFlags } from '../load.ts';
import {
  type DeviceFlags,
  deviceOptions,
  type JsonFlags,
  jsonOption,
  type ModelFlags,
  modelOptions,
  wholeNumber,
} from '../options.ts';
import { openNamed } from '../pull-model.ts';
import { readText } from '../text-files.ts';
import { modelName } from './split.ts';

interface ImatrixFlags extends ModelFlags, DeviceFlags, JsonFlags {
  readonly file?: string;
  readonly output?: string;
  readonly chunks?: number;
}

const DEFAULT_CONTEXT = 512;

/** `rocmforge imatrix`: which columns of a model's weights matter for a text. */
export const imatrixCommand: CliCommand<ImatrixFlags> = {
  options: [
    new Option(
      '-f, --file <path>',
      'a text like those that the model will see, in chunks of --context tokens',
    ),
    new Option('-o, --output <file>', 'file to write (default: <model>.imatrix.gguf)'),
    new Option('--chunks <count>', 'maximum number of chunks').argParser(wholeNumber(1)),
    jsonOption(),
    ...modelOptions(),
    ...deviceOptions(),
  ],
  examples: [
    ['imatrix -m model-f16.gguf -f calibration.txt', 'writes model-f16.imatrix.gguf'],
    ['imatrix -m model-f16.gguf -f calibration.txt --chunks 100', 'enough for most models'],
    ['quantize model-f16.gguf IQ4_XS --imatrix model-f16.imatrix.gguf', 'what it is for'],
  ],
  async run({ flags }, context) {
    const { output, signal } = context;
    if (flags.file === undefined) {
      fail('INVALID_ARGUMENT', { name: 'imatrix', found: 'no text', expected: '--file' });
    }
    // The file's final line break is not part of the text, as in llama.cpp.
    const text = (await readText(flags.file)).replace(/\n$/, '');
    const { products, name } = await productsOf(flags, context);
    const collector = new ImportanceCollector(products);
    for (const weight of collector.missing)
      output.warn(`what ${weight} multiplies is not seen: it gets no entry`);
    const path = flags.output ?? `${name}.imatrix.gguf`;
    const size = flags.context ?? DEFAULT_CONTEXT;
    const { model } = await loadFromFlags({ ...flags, context: size, taps: collector.taps }, context);
    await using _model = model;
    const { addBos, bos } = model.tokenizer.special;
    const ids = await model.tokenizer.encodeInTurns(text, { signal });
    const begin = addBos ? bos : undefined;
    const chunks = perplexityChunks(ids, { context: size, begin, chunks: flags.chunks });
    const started = performance.now();
    for (const [index, chunk] of chunks.entries()) {
      for await (const _logits of model.evaluate(chunk, chunk.length - 1, { signal }));
      const seconds = (performance.now() - started) / 1000;
      const left = Math.ceil((seconds / (index + 1)) * (chunks.length - index - 1));
      const pace = (((index + 1) * size) / seconds).toFixed(0);
      output.note(`[${index + 1}/${chunks.length}] ${pace} tokens/s, ${left} s left`);
    }
    const weights = collector.weights();
    const sums = { datasets: [flags.file], chunks: chunks.length, chunkSize: size, weights };
    await writeWhole(path, (sink) => writeImportance(sink, sums), signal);
    const unseen = [...weights].flatMap(([weight, { counts }]) => (counts.includes(0) ? [weight] : []));
    for (const weight of unseen) output.warn(`${weight}: no token chose some of its experts`);
    const report = { path, chunks: chunks.length, tokens: chunks.length * size, entries: weights.size };
    if (flags.json) await output.json({ ...report, missing: collector.missing, unseen });
    else await output.line(`${basename(path)}: ${weights.size} weights, ${report.tokens} tokens`);
    return undefined;
  },
};

/** The products of a model's layers, and its name. */
async function productsOf(
  flags: ImatrixFlags,
  context: Parameters<typeof openNamed>[2],
): Promise<{ products: ProductInput[]; name: string }> {
  await using gguf: GgufFile = await openNamed(flags.model ?? bundledModel(), flags, context);
  const source = { gguf, device: openNullDevice(), architectures: ALL_ARCHITECTURES };
  const { setup } = describeModel(source, { allowUnread: flags.allowUnread });
  const graphs = setup.record({ ...setup.shape, rows: 1, outputs: 1 });
  return { products: productInputs(graphs), name: modelName(gguf) };
}
