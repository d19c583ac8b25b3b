import { Argument, Option } from 'commander';
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
import { requireStandardInput } from '../standard-input.ts';

interface EmbedFlags extends ModelFlags, DeviceFlags, JsonFlags {
  readonly dimensions?: number;
  readonly raw?: boolean;
}

/** `rocmforge embed`: the embeddings of texts. */
export const embedCommand: CliCommand<EmbedFlags> = {
  arguments: [new Argument('[texts...]', 'the texts (default: standard input as one text)')],
  options: [
    new Option('--dimensions <count>', 'keep the first so many values').argParser(wholeNumber(1)),
    new Option('--raw', 'do not normalize vectors to length 1'),
    jsonOption(),
    ...modelOptions(),
    ...deviceOptions(),
  ],
  examples: [
    ['embed -m bge-small.gguf "A panda is a bear."', 'the values on one line'],
    ['embed -m qwen3.gguf --pooling last --json "one" "two"', 'a decoder’s vectors of two texts'],
  ],
  async run({ args, flags }, context) {
    const { output, signal } = context;
    const [given = []] = args as [(readonly string[])?];
    const texts = given.length > 0 ? given : [await requireStandardInput(signal)];
    const { model, tell } = await loadFromFlags(flags, context);
    await using _model = model;
    const { dimensions } = flags;
    const how = { dimensions, normalized: flags.raw !== true, signal };
    const embeddings = [];
    for (const text of texts) {
      const { vector, tokens } = await model.embed(text, how);
      embeddings.push({ tokens, vector: Array.from(vector) });
    }
    await tell();
    if (flags.json) await output.json({ model: model.gguf.name, embeddings });
    else await output.write(embeddings.map(({ vector }) => `${vector.join(' ')}\n`).join(''));
    return undefined;
  },
};
