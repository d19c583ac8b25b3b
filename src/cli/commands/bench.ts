import { Option } from 'commander';
import { formatBytes } from '../../base/bytes.ts';
import { fail } from '../../base/errors.ts';
import {
  type BenchmarkResult,
  benchmarkContext,
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

interface BenchFlags extends ModelFlags, DeviceFlags, JsonFlags {
  readonly promptTokens: number;
  readonly generatedTokens: number;
  readonly parallel: number;
  readonly depth?: number;
  readonly check?: string;
  readonly repetitions: number;
  readonly save?: string;
  readonly compare?: string;
  readonly maxRatio?: number;
}

/** Default maximum slowdown compared with a saved result. */
const MAX_RATIO = 1.1;
/** Width of a test's name. */
const WIDTH = 22;

/** `rocmforge bench`: measures loading, prompt processing and generation. */
export const benchCommand: CliCommand<BenchFlags> = {
  options: [
    new Option('-p, --prompt-tokens <count>', 'length of the prompt; 0 for none')
      .argParser(wholeNumber(0))
      .default(512),
    new Option('-n, --generated-tokens <count>', 'tokens to generate from an empty context; 0 for none')
      .argParser(wholeNumber(0))
      .default(128),
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
    jsonOption(),
    ...modelOptions(),
    ...draftOptions(),
    loadTraceOption(),
    profileOption(),
    ...deviceOptions(),
  ],
  examples: [
    ['bench -m model.gguf', 'pp512 and tg128, as in llama-bench'],
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
    const options = { ...flags, speculative, signal };
    const size = flags.context ?? benchmarkContext(options) + 4;
    const sized = { ...flags, context: size, sequences: flags.parallel };
    const { model, seconds, tell } = await loadFromFlags(sized, context);
    await using _model = model;
    const results: BenchmarkResult[] = [];
    for await (const result of runBenchmark(model, options)) {
      results.push(result);
      output.note(resultText(result));
    }
    const checks =
      flags.check === undefined ? [] : await checkAgainst(flags.check, model, { flags, context });
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
    if (flags.save !== undefined) await saveRecord(flags.save, record);
    const ratios = before ? compareRecords(before, record) : undefined;
    if (flags.json) await output.json({ ...record, ratios });
    else await output.write(recordText(record) + checksText(flags.check, checks) + ratiosText(ratios ?? []));
    await tell();
    const slower = ratios?.some(({ ratio }) => ratio > maxRatio) ?? false;
    if (slower) output.warn(`slower than ${maxRatio} times the saved result`);
    return slower ? EXIT.failure : EXIT.ok;
  },
};

/** Throws `INVALID_ARGUMENT` for flags without effect, before a model is loaded. */
function checkFlags(flags: BenchFlags): void {
  checkTests(flags);
  if (flags.maxRatio === undefined || flags.compare !== undefined) return;
  const expected = 'a result to compare with';
  fail('INVALID_ARGUMENT', { name: '--max-ratio', found: 'no --compare', expected });
}

/** Compares with the same model on another device. */
async function checkAgainst(
  device: string,
  model: LanguageModel,
  { flags, context }: { flags: BenchFlags; context: CommandContext },
): Promise<CheckResult[]> {
  const size = benchmarkContext(flags) + 4;
  const { draft: _draft, speculation: _speculation, profile: _profile, loadTrace: _trace, ...plain } = flags;
  await using other = (await loadFromFlags({ ...plain, device, context: size, sequences: 1 }, context)).model;
  const checks: CheckResult[] = [];
  const options = { ...flags, signal: context.signal };
  for await (const check of checkBenchmark(model, other, options)) {
    checks.push(check);
    context.output.note(checkText(check));
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
