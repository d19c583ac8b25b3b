import { Option } from 'commander';
import { formatBytes } from '../../base/bytes.ts';
import { type BenchmarkResult, benchmarkContext, runBenchmark } from '../../engine/benchmark.ts';
import {
  type BenchRatio,
  type BenchRecord,
  compareRecords,
  readRecord,
  saveRecord,
} from '../bench-record.ts';
import type { CliCommand } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { loadFromFlags } from '../load.ts';
import {
  type DeviceFlags,
  deviceOptions,
  type JsonFlags,
  jsonOption,
  type ModelFlags,
  modelOptions,
  realNumber,
  wholeNumber,
} from '../options.ts';

interface BenchFlags extends ModelFlags, DeviceFlags, JsonFlags {
  readonly promptTokens: number;
  readonly generatedTokens: number;
  readonly parallel: number;
  readonly depth: number;
  readonly repetitions: number;
  readonly save?: string;
  readonly compare?: string;
  readonly maxRatio: number;
}

/** `rocmforge bench`: how fast a model loads, reads and generates. */
export const benchCommand: CliCommand<BenchFlags> = {
  name: 'bench',
  summary: 'measure how fast a model loads, reads a prompt and generates',
  options: [
    new Option('-p, --prompt-tokens <count>', 'length of the prompt that is read; 0 for none')
      .argParser(wholeNumber(0))
      .default(512),
    new Option('-n, --generated-tokens <count>', 'tokens to generate from an empty context; 0 for none')
      .argParser(wholeNumber(0))
      .default(128),
    new Option('--parallel <count>', 'also generate in so many sequences at once')
      .argParser(wholeNumber(1))
      .default(1),
    new Option('--depth <count>', 'length of the prompts of those sequences')
      .argParser(wholeNumber(1))
      .default(128),
    new Option('-r, --repetitions <count>', 'counted rounds of each; one more warms up')
      .argParser(wholeNumber(1))
      .default(5),
    new Option('--save <file>', 'write the result to a file'),
    new Option('--compare <file>', 'compare with a saved result; exit code 1 when slower than --max-ratio'),
    new Option('--max-ratio <ratio>', 'how many times as long it may take')
      .argParser(realNumber)
      .default(1.1),
    jsonOption(),
    ...modelOptions(),
    ...deviceOptions(),
  ],
  examples: [
    ['bench -m model.gguf', 'pp512 and tg128, as llama-bench'],
    ['bench -m model.gguf -p 0 --parallel 16', 'how much sixteen conversations at once gain'],
    ['bench -p 128 -n 32 -r 3 --save before.json', 'a short one of the bundled model, to be kept'],
    ['bench -p 128 -n 32 -r 3 --compare before.json --max-ratio 1.05', 'has it become slower?'],
  ],
  async run({ flags }, context) {
    const { output, signal } = context;
    const before = flags.compare === undefined ? undefined : await readRecord(flags.compare);
    const options = { ...flags, signal };
    const size = flags.context ?? benchmarkContext(options);
    const { model, seconds } = await loadFromFlags(
      { ...flags, context: size, sequences: flags.parallel },
      context,
    );
    await using _model = model;
    const results: BenchmarkResult[] = [];
    for await (const result of runBenchmark(model, options)) {
      results.push(result);
      output.note(resultText(result));
    }
    const { name } = model.device.info;
    const record = {
      model: model.gguf.name,
      modelBytes: model.gguf.byteLength,
      device: name,
      loadSeconds: seconds,
      results,
    };
    if (flags.save !== undefined) await saveRecord(flags.save, record);
    const ratios = before ? compareRecords(before, record) : undefined;
    if (flags.json) await output.json({ ...record, ratios });
    else await output.write(recordText(record) + ratiosText(ratios ?? []));
    const slower = ratios?.some(({ ratio }) => ratio > flags.maxRatio) ?? false;
    if (slower) output.warn(`slower than ${flags.maxRatio} times the saved result`);
    return slower ? EXIT.failure : EXIT.ok;
  },
};

function recordText({ model, modelBytes, device, loadSeconds, results }: BenchRecord): string {
  const lines = [
    `${model} (${formatBytes(modelBytes)}) on ${device}`,
    `${'load'.padEnd(14)}${loadSeconds.toFixed(2)} s`,
    ...results.map(resultText),
  ];
  return `${lines.join('\n')}\n`;
}

function resultText({ test, median, slowest, fastest }: BenchmarkResult): string {
  const spread = `${speed(slowest)} to ${speed(fastest)}`;
  return `${test.padEnd(14)}${speed(median)} tok/s (${spread})`;
}

function ratiosText(ratios: readonly BenchRatio[]): string {
  return ratios
    .map(({ test, before, now, ratio }) => {
      const times = `${ratio.toFixed(3)} times as long as before`;
      return `${test.padEnd(14)}${times}: ${speed(before)} -> ${speed(now)} tok/s\n`;
    })
    .join('');
}

function speed(perSecond: number): string {
  return perSecond >= 100 ? perSecond.toFixed(0) : perSecond.toPrecision(3);
}
