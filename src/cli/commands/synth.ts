import { basename } from 'node:path';
import { Argument, Option } from 'commander';
import { formatBytes } from '../../base/bytes.ts';
import { fail } from '../../base/errors.ts';
import { ALL_FORMATS, F16, formatNamed, type TensorFormat } from '../../formats/index.ts';
import { SYNTHETIC_SHAPES, syntheticShape } from '../../model/synthetic/shapes.ts';
import type { SyntheticShape } from '../../model/synthetic-family.ts';
import { SYNTHETIC_ARCHITECTURES } from '../../model/synthetic/synthetic-plan.ts';
import { writeSyntheticModel } from '../../node/write-synthetic-model.ts';
import { type Mix, mixNamed, MIXES } from '../../quantize/mixes.ts';
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
  readonly headSize?: number;
  readonly kvHeads?: number;
  readonly hidden?: number;
  readonly experts?: number;
  readonly chosenExperts?: number;
  readonly expertHidden?: number;
  readonly vocab?: number;
  readonly trainedContext?: number;
}

/** `rocmforge synth`: a model file of random weights, for benchmarks and tests. */
export const synthCommand: CliCommand<SynthFlags> = {
  arguments: [new Argument('<shape>', 'sizes of a known model').choices(Object.keys(SYNTHETIC_SHAPES))],
  options: [
    new Option('-a, --arch <name>', 'architecture, if not the shape’s own').choices(SYNTHETIC_ARCHITECTURES),
    new Option(
      '-f, --format <name>',
      'format of all matrices (q4_0, q8_0, q4_k, f16 and so on) or a mix of formats as quantize makes it (q4_k_m)',
    ).default('q4_0'),
    new Option('--output-format <name>', 'format of output.weight (default: as the others)'),
    new Option('-o, --output <file>', 'file to write (default: <shape>-<format>.gguf)'),
    new Option('--seed <number>', 'random seed; the same seed gives the same file')
      .argParser(wholeNumber(0))
      .default(1),
    size('--layers', 'layers', 1),
    size('--width', 'width of the residual stream', 1),
    size('--heads', 'attention heads', 1),
    size('--head-size', 'width of a head', 2),
    size('--kv-heads', 'key and value heads', 1),
    size('--hidden', 'width of the feed-forward', 1),
    size('--experts', 'experts per layer; llama with experts is Mixtral', 1),
    size('--chosen-experts', 'experts per token', 1),
    size('--expert-hidden', "width of an expert's hidden layer", 1),
    size('--vocab', 'size of the synthetic vocabulary', 5),
    size('--trained-context', 'trained context, in tokens', 1),
    jsonOption(),
  ],
  examples: [
    ['synth llama-2-7b -f q4_0', 'a 3.8 GB file for benchmarks'],
    ['synth llama-3-8b -f q4_k_m', 'with the formats that a quantized Llama 3 8B has'],
    ['synth llama-1b -f q8_0 --layers 2 -o short.gguf', 'a model with only two layers'],
    ['synth tiny --arch gemma3 -f f32 --layers 6 -o gemma3.gguf', 'a small file with another architecture'],
    ['synth tiny --experts 4 -f f32 -o mixtral.gguf', 'a small Mixtral'],
    ['synth llama-tiny -f q4_k -o tiny.gguf --seed 7', 'a small file for a test'],
    [
      'synth llama-3-8b --arch dflash --layers 5 -o draft.gguf',
      'a drafter for that shape (--draft draft.gguf)',
    ],
  ],
  async run({ args, flags }, { output, signal }) {
    const name = String(args[0]);
    const { format, mix } = requireFormatOrMix(flags.format);
    const path = flags.output ?? `${name}-${(mix ?? format).name.toLowerCase()}.gguf`;
    const shape = syntheticShape(name, changesOf(flags));
    const outputFormat = flags.outputFormat ? requireFormat('output format', flags.outputFormat) : undefined;
    const display = await byteProgress(output, { doing: 'writing', done: 'wrote', name: basename(path) });
    const begin = performance.now();
    try {
      const request = { path, name, shape, format, mix, outputFormat, seed: flags.seed, signal };
      const byteLength = await writeSyntheticModel({ ...request, onProgress: display.show });
      const seconds = (performance.now() - begin) / 1000;
      display.clear();
      if (flags.json) await output.json({ path, byteLength, seconds, format: (mix ?? format).name, shape });
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

/** Formats of numbers with fractions, which weights can have. */
const FLOATING = ALL_FORMATS.filter((format) => !/^I\d+$/.test(format.name));

/** A format of that name, or a mix, which chooses among what matrices in F16 may become. */
function requireFormatOrMix(name: string): { format: TensorFormat; mix?: Mix } {
  const mix = formatNamed(name) ? undefined : mixNamed(name);
  return mix ? { format: F16, mix } : { format: requireFormat('format', name, MIXES) };
}

function requireFormat(name: string, found: string, more: readonly Mix[] = []): TensorFormat {
  const format = formatNamed(found);
  if (format && FLOATING.includes(format)) return format;
  const names = new Set([...FLOATING, ...more].map((known) => known.name.toLowerCase()));
  return fail('INVALID_ARGUMENT', { name, found, expected: `one of ${[...names].join(', ')}` });
}

function changesOf(flags: SynthFlags): Partial<SyntheticShape> {
  const {
    arch: architecture,
    layers,
    width,
    heads,
    headSize,
    kvHeads,
    hidden,
    experts,
    chosenExperts,
    expertHidden,
    vocab: vocabulary,
    trainedContext: context,
  } = flags;
  const sizes = { layers, width, heads, headSize, kvHeads, hidden, experts, chosenExperts, expertHidden };
  const changes = { architecture, ...sizes, vocabulary, context };
  return Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined));
}
