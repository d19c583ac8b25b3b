import { Argument, Option } from 'commander';
import { fail } from '../../base/errors.ts';
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
import { printable } from '../table.ts';
import { readText } from '../text-files.ts';

interface RerankFlags extends ModelFlags, DeviceFlags, JsonFlags {
  readonly query: string;
  readonly file?: string;
  readonly top?: number;
}

/** `rocmforge rerank`: orders documents by how well they answer a query. */
export const rerankCommand: CliCommand<RerankFlags> = {
  arguments: [new Argument('[documents...]', 'the documents')],
  options: [
    new Option('--query <text>', 'what the documents should answer').makeOptionMandatory(),
    new Option('-f, --file <path>', 'a document per line, after those given'),
    new Option('--top <count>', 'number of results (default: all)').argParser(wholeNumber(1)),
    jsonOption(),
    ...modelOptions(),
    ...deviceOptions(),
  ],
  examples: [
    [
      'rerank -m bge-reranker.gguf --query "What is a panda?" "A bear." "A city."',
      'the best document first, with its score',
    ],
    ['rerank -m qwen3-reranker.gguf --query "How?" -f lines.txt --top 3', 'the three best lines of a file'],
  ],
  async run({ args, flags }, context) {
    const { output, signal } = context;
    const [given = []] = args as [(readonly string[])?];
    const documents = [...given, ...(flags.file === undefined ? [] : await linesOf(flags.file))];
    if (documents.length === 0) {
      fail('INVALID_ARGUMENT', { name: 'documents', found: 'none', expected: 'arguments or --file' });
    }
    const { model, tell } = await loadFromFlags(flags, context);
    await using _model = model;
    const { top } = flags;
    const ranking = await model.rerank(flags.query, documents, { top, signal });
    await tell();
    if (flags.json) await output.json({ model: model.gguf.name, ...ranking });
    else {
      const lines = ranking.results.map(
        ({ index, score }) => `${score.toFixed(4)}\t${index}\t${printable(documents[index] ?? '')}\n`,
      );
      await output.write(lines.join(''));
    }
    return undefined;
  },
};

async function linesOf(path: string): Promise<string[]> {
  return (await readText(path)).split('\n').filter((line) => line !== '');
}
