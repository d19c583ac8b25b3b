import { basename } from 'node:path';
import { Argument, Option } from 'commander';
import { formatBytes } from '../../base/bytes.ts';
import { fail } from '../../base/errors.ts';
import { ALL_FORMATS, formatNamed, type TensorFormat } from '../../formats/index.ts';
import { SYNTHETIC_SHAPES, syntheticShape } from '../../model/synthetic/shapes.ts';
import type { SyntheticShape } from '../../model/synthetic-family.ts';
import { SYNTHETIC_ARCHITECTURES } from '../../model/synthetic/synthetic-plan.ts';
import { writeSyntheticModel } from '../../node/write-synthetic-model.ts';
import { byteProgress } from '../byte-progress.ts';
import type { CliCommand } from '../command.ts';
import { type JsonFlags, jsonOption, wholeNumber } from '../options.ts';

interface SynthFlags extends JsonFlags {
  readonly arch?: string;
  readonly format: string;
  readonly outputFormat?: string;
  readonly output?: string;
  readonly seed: number;
  readonly layers?: number;
  readonly width?: number;
  readonly heads?: number;
  readonly kvHeads?: number;
  readonly hidden?: number;
  readonly experts?: number;
  readonly chosenExperts?: number;
  readonly expertHidden?: number;
  readonly vocab?: number;
  readonly trainedContext?: number;
}

/** `rocmforge synth`: a model file of random weights, to measure and to test with. */
export const synthCommand: CliCommand<SynthFlags> = {
  arguments: [new Argument('<shape>', 'sizes of a known model').choices(Object.keys(SYNTHETIC_SHAPES))],
  options: [
    new Option('-a, --arch <name>', "of another architecture than the shape's").choices(
      SYNTHETIC_ARCHITECTURES,
    ),
    new Option('-f, --format <name>', 'of the matrices: q4_0, q8_0, q4_k, f16 and the like').default('q4_0'),
    new Option('--output-format <name>', 'of output.weight (default: as the others)'),
    new Option('-o, --output <file>', 'file to write (default: <shape>-<format>.gguf)'),
    new Option('--seed <number>', 'same seed, same file').argParser(wholeNumber(0)).default(1),
    size('--layers', 'layers', 1),
    size('--width', 'width of the residual stream', 1),
    size('--heads', 'attention heads', 1),
    size('--kv-heads', 'heads of keys and values', 1),
    size('--hidden', 'width of the feed-forward', 1),
    size('--experts', 'experts of a layer; Mixtral is llama with some', 1),
    size('--chosen-experts', 'experts that each row goes to', 1),
    size('--expert-hidden', "width of an expert's hidden layer", 1),
    size('--vocab', 'pieces of the made-up vocabulary', 5),
    size('--trained-context', 'positions that the model says it was trained for', 1),
    jsonOption(),
  ],
  examples: [
    ['synth llama-2-7b -f q4_0', 'a file of 3.8 GB for benchmarks'],
    ['synth llama-1b -f q8_0 --layers 2 -o short.gguf', 'the same layers, fewer of them'],
    ['synth tiny --arch gemma3 -f f32 --layers 6 -o gemma3.gguf', 'a small file of another architecture'],
    ['synth tiny --experts 4 -f f32 -o mixtral.gguf', 'a small Mixtral'],
    ['synth llama-tiny -f q4_k -o tiny.gguf --seed 7', 'a small file for a test'],
  ],
  async run({ args, flags }, { output, signal }) {
    const name = String(args[0]);
    const format = requireFormat('format', flags.format);
    const path = flags.output ?? `${name}-${format.name.toLowerCase()}.gguf`;
    const shape = syntheticShape(name, changesOf(flags));
    const outputFormat = flags.outputFormat ? requireFormat('output format', flags.outputFormat) : undefined;
    const display = await byteProgress(output, { doing: 'writing', done: 'wrote', name: basename(path) });
    const begin = performance.now();
    try {
      const request = { path, name, shape, format, outputFormat, seed: flags.seed, signal };
      const byteLength = await writeSyntheticModel({ ...request, onProgress: display.show });
      const seconds = (performance.now() - begin) / 1000;
      display.clear();
      if (flags.json) await output.json({ path, byteLength, seconds, format: format.name, shape });
      else await output.line(`${path}: ${formatBytes(byteLength)} in ${seconds.toFixed(1)} s`);
    } finally {
      display.clear();
    }
    return undefined;
  },
};

function size(flag: string, description: string, least: number): Option {
  return new Option(`${flag} <count>`, `${description} (default: the shape's)`)
    .argParser(wholeNumber(least))
    .helpGroup('Sizes:');
}

function requireFormat(name: string, found: string): TensorFormat {
  const floating = ALL_FORMATS.filter((format) => !/^I\d+$/.test(format.name));
  const format = formatNamed(found);
  if (format && floating.includes(format)) return format;
  const expected = `one of ${floating.map((known) => known.name.toLowerCase()).join(', ')}`;
  return fail('INVALID_ARGUMENT', { name, found, expected });
}

function changesOf(flags: SynthFlags): Partial<SyntheticShape> {
  const {
    arch: architecture,
    layers,
    width,
    heads,
    kvHeads,
    hidden,
    experts,
    chosenExperts,
    expertHidden,
    vocab: vocabulary,
    trainedContext: context,
  } = flags;
  const sizes = { layers, width, heads, kvHeads, hidden, experts, chosenExperts, expertHidden };
  const changes = { architecture, ...sizes, vocabulary, context };
  return Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined));
}
