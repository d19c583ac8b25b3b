import { Option } from 'commander';
import { formatBytes } from '../../base/bytes.ts';
import { fail } from '../../base/errors.ts';
import {
  type BenchmarkOptions,
  type BenchmarkResult,
  benchmarkContext,
  benchmarkTests,
  checkTests,
  runBenchmark,
} from '../../evaluate/benchmark.ts';
import { type CheckResult, checkBenchmark } from '../../evaluate/benchmark-check.ts';
import type { LanguageModel } from '../../engine/language-model.ts';
import {
  type BenchRatio,
  type BenchRecord,
  compareRecords,
  readRecord,
  saveRecord,
} from '../bench-record.ts';
import { benchCsv, benchMarkdown } from '../bench-tables.ts';
import type { CliCommand, CommandContext } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { loadFromFlags } from '../load.ts';
import {
  type DeviceFlags,
  deviceOptions,
  draftOptions,
  type JsonFlags,
  jsonOption,
  loadTraceOption,
  type ModelFlags,
  modelOptions,
  profileOption,
  realNumber,
  wholeNumber,
} from '../options.ts';
import type { Output } from '../output.ts';
import { RoundProgress } from '../round-progress.ts';

interface BenchFlags extends ModelFlags, DeviceFlags, JsonFlags {
  readonly promptTokens: readonly number[];
  readonly generatedTokens: readonly number[];
  readonly parallel: number;
  readonly depth?: number;
  readonly check?: string;
  readonly repetitions: number;
  readonly save?: string;
  readonly compare?: string;
  readonly maxRatio?: number;
  readonly format?: 'text' | 'markdown' | 'csv';
}

/** Default maximum slowdown compared with a saved result. */
const MAX_RATIO = 1.1;
/** Width of a test's name. */
const WIDTH = 22;

/** `rocmforge bench`: measures loading, prompt processing and generation. */
export const benchCommand: CliCommand<BenchFlags> = {
  options: [
    new Option('-p, --prompt-tokens <counts>', 'lengths of prompts, such as 512,2048; 0 for none')
      .argParser(wholeNumbers)
      .default([512], '512'),
    new Option(
      '-n, --generated-tokens <counts>',
      'tokens to generate from an empty context, such as 32,128; 0 for none',
    )
      .argParser(wholeNumbers)
      .default([128], '128'),
    new Option('--parallel <count>', 'also generate with this many concurrent sequences')
      .argParser(wholeNumber(1))
      .default(1),
    new Option(
      '--depth <count>',
      'generate after prompts of this length (default: 128 for --parallel, otherwise none)',
    ).argParser(wholeNumber(1)),
    new Option('--check <device>', 'compare the tokens with those of another device'),
    new Option('-r, --repetitions <count>', 'measured rounds of each test, after a warm-up')
      .argParser(wholeNumber(1))
      .default(5),
    new Option('--save <file>', 'write the result to a file'),
    new Option(
      '--compare <file>',
      'compare with a saved result; exit code 1 if slower than --max-ratio allows',
    ),
    new Option(
      '--max-ratio <ratio>',
      `with --compare: the maximum slowdown, as a ratio of times (default: ${MAX_RATIO})`,
    ).argParser(realNumber),
    new Option(
      '--format <name>',
      'the result as text, or as a table with the columns of llama-bench (default: text)',
    )
      .choices(['text', 'markdown', 'csv'])
      .conflicts('json'),
    jsonOption(),
    ...modelOptions(),
    ...draftOptions(),
    loadTraceOption(),
    profileOption(),
    ...deviceOptions(),
  ],
  examples: [
    ['bench -m model.gguf', 'pp512 and tg128, as in llama-bench'],
    ['bench -m model.gguf -p 512,2048 -n 32,128 --format markdown', 'several lengths, as a table'],
    [
      'bench -m model.gguf --parallel 64 --check cpu',
      'also 64 concurrent sequences, with the tokens checked on the CPU',
    ],
    ['bench -m model.gguf --draft small.gguf', 'the speedup from a draft model'],
    ['bench -p 128 -n 32 -r 3 --save before.json', 'a short benchmark of the bundled model, saved to a file'],
    ['bench -p 128 -n 32 -r 3 --compare before.json --max-ratio 1.05', 'fail if it has become slower'],
  ],
  async run({ flags }, context) {
    const { output, signal } = context;
    const { maxRatio = MAX_RATIO } = flags;
    checkFlags(flags);
    const before = flags.compare === undefined ? undefined : await readRecord(flags.compare);
    const speculative = flags.draft !== undefined || (flags.speculation ?? 0) > 0;
    const series = seriesOf(flags).map((one) => ({ ...one, speculative, signal }));
    const size = flags.context ?? contextOf(series);
    const sized = { ...flags, context: size, sequences: flags.parallel };
    const { model, seconds, tell } = await loadFromFlags(sized, context);
    await using _model = model;
    await model.device.settle?.();
    const results = await measure(model, series, output);
    const checks =
      flags.check === undefined ? [] : await checkAgainst(flags.check, model, { flags, series, context });
    const { name, details } = model.device.info;
    const kernels = details?.kernels;
    const record = {
      model: model.gguf.name,
      modelBytes: model.gguf.byteLength,
      device: name,
      ...(typeof kernels === 'string' && { kernels }),
      loadSeconds: seconds,
      results,
      ...(checks.length > 0 && { checks }),
    };
    if (flags.save !== undefined) await saveRecord(flags.save, record, signal);
    const ratios = before ? compareRecords(before, record) : undefined;
    if (flags.json) await output.json({ ...record, ratios });
    else {
      const comparisons = checksText(flags.check, checks) + ratiosText(ratios ?? []);
      await output.write(formatted(record, model, flags.format) + comparisons);
    }
    await tell();
    const slower = ratios?.some(({ ratio }) => ratio > maxRatio) ?? false;
    if (slower) output.warn(`slower than ${maxRatio} times the saved result`);
    return slower ? EXIT.failure : EXIT.ok;
  },
};

/** Throws `INVALID_ARGUMENT` for flags without effect, before a model is loaded. */
function checkFlags(flags: BenchFlags): void {
  const [promptTokens, generatedTokens] = [flags.promptTokens, flags.generatedTokens].map((counts) =>
    Math.max(...counts),
  ) as [number, number];
  checkTests({ ...flags, promptTokens, generatedTokens });
  if (flags.maxRatio === undefined || flags.compare !== undefined) return;
  const expected = 'a result to compare with';
  fail('INVALID_ARGUMENT', { name: '--max-ratio', found: 'no --compare', expected });
}

/** What is measured: each length of a prompt, then each number of generated tokens. */
function seriesOf({ promptTokens, generatedTokens, ...flags }: BenchFlags): BenchmarkOptions[] {
  const { parallel, depth, repetitions } = flags;
  const prompts = promptTokens.filter((count) => count > 0);
  const texts = generatedTokens.filter((count) => count > 0);
  return [
    ...prompts.map((count) => ({ promptTokens: count, generatedTokens: 0, parallel: 1, repetitions })),
    ...texts.map((count) => ({ promptTokens: 0, generatedTokens: count, parallel, depth, repetitions })),
  ];
}

/** The context that all of it needs. */
function contextOf(series: readonly BenchmarkOptions[]): number {
  return Math.max(...series.map(benchmarkContext)) + 4;
}

async function measure(
  model: LanguageModel,
  series: readonly BenchmarkOptions[],
  output: Output,
): Promise<BenchmarkResult[]> {
  const tests = series.flatMap((options) => benchmarkTests(model, options));
  const progress = new RoundProgress(output, tests.length);
  const onRound = (...round: Parameters<RoundProgress['show']>) => progress.show(...round);
  const results: BenchmarkResult[] = [];
  try {
    for (const options of series) {
      for await (const result of runBenchmark(model, { ...options, onRound })) {
        results.push(result);
        progress.clear();
        output.note(resultText(result));
      }
    }
  } finally {
    progress.clear();
  }
  return results;
}

function formatted(record: BenchRecord, model: LanguageModel, format: BenchFlags['format']): string {
  if (format === undefined || format === 'text') return recordText(record);
  const parameters = model.gguf.tensors.reduce((sum, { elementCount }) => sum + elementCount, 0);
  const { backend } = model.device.info;
  return (format === 'csv' ? benchCsv : benchMarkdown)(record, { parameters, backend });
}

/** Numbers, separated by commas. */
function wholeNumbers(text: string): number[] {
  return text.split(',').map(wholeNumber(0));
}

/** Compares with the same model on another device. */
async function checkAgainst(
  device: string,
  model: LanguageModel,
  of: {
    readonly flags: BenchFlags;
    readonly series: readonly BenchmarkOptions[];
    readonly context: CommandContext;
  },
): Promise<CheckResult[]> {
  const { flags, series, context } = of;
  const size = contextOf(series);
  const { draft: _draft, speculation: _speculation, draftMax: _max, draftMin: _min, ...undrafted } = flags;
  const {
    draftPMin: _probability,
    draftDevice: _place,
    profile: _profile,
    loadTrace: _trace,
    ...rest
  } = undrafted;
  const { gpuLayers: _layers, link: _link, ...here } = rest;
  const {
    workers: _w,
    workerSplit: _split,
    workerSecret: _secret,
    workerDeadline: _deadline,
    ...plain
  } = here;
  const single = { ...plain, gpus: {}, device, context: size, sequences: 1 };
  await using other = (await loadFromFlags(single, context)).model;
  const checks: CheckResult[] = [];
  for (const options of series) {
    for await (const check of checkBenchmark(model, other, { ...options, speculative: false })) {
      checks.push(check);
      context.output.note(checkText(check));
    }
  }
  return checks;
}

function recordText({ model, modelBytes, device, kernels, loadSeconds, results }: BenchRecord): string {
  const by = kernels === undefined ? '' : `, ${kernels} kernels`;
  const lines = [
    `${model} (${formatBytes(modelBytes)}) on ${device}${by}`,
    `${'load'.padEnd(WIDTH)}${loadSeconds.toFixed(2)} s`,
    ...results.map(resultText),
  ];
  return `${lines.join('\n')}\n`;
}

function resultText(result: BenchmarkResult): string {
  const { test, median, slowest, fastest, bytesPerSecond, flopsPerSecond, speculative } = result;
  const facts = [
    `${speed(median)} tok/s (${speed(slowest)} to ${speed(fastest)})`,
    `${(bytesPerSecond / 1e9).toPrecision(3)} GB/s`,
    `${(flopsPerSecond / 1e12).toPrecision(3)} TFLOP/s`,
  ];
  const shown = speculative ? [facts[0], speculationText(speculative)] : facts;
  return `${test.padEnd(WIDTH)}${shown.join(', ')}`;
}

function speculationText({ ratio, accepted }: NonNullable<BenchmarkResult['speculative']>): string {
  return `${ratio.toFixed(2)} x as fast as without, ${(100 * accepted).toFixed(0)} % of the draft tokens accepted`;
}

function checksText(device: string | undefined, checks: readonly CheckResult[]): string {
  return checks.length === 0
    ? ''
    : `against ${device}:\n${checks.map((check) => `${checkText(check)}\n`).join('')}`;
}

function checkText({ test, tokens, agreeing, meanDifference, largestDifference }: CheckResult): string {
  const apart = `log-probabilities ${meanDifference.toFixed(4)} apart, ${largestDifference.toFixed(4)} at most`;
  return `${test.padEnd(WIDTH)}${agreeing} of ${tokens} tokens are the best there as well, ${apart}`;
}

function ratiosText(ratios: readonly BenchRatio[]): string {
  return ratios
    .map(({ test, before, now, ratio }) => {
      const times = `${ratio.toFixed(3)} times as long as before`;
      return `${test.padEnd(WIDTH)}${times}: ${speed(before)} -> ${speed(now)} tok/s\n`;
    })
    .join('');
}

function speed(perSecond: number): string {
  return perSecond >= 100 ? perSecond.toFixed(0) : perSecond.toPrecision(3);
}
