import { readFile } from 'node:fs/promises';
import { Option } from 'commander';
import { fail } from '../../base/errors.ts';
import { ForcedDecoding, type ForcedDecodingReport } from '../../evaluate/forced-decoding.ts';
import { parseGolden } from '../../evaluate/golden.ts';
import { estimatePerplexity, type PerplexityEstimate, perplexityChunks } from '../../evaluate/perplexity.ts';
import type { CliCommand, CommandContext } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { loadFromFlags } from '../load.ts';
import {
  type DeviceFlags,
  deviceOptions,
  type JsonFlags,
  jsonOption,
  loadTraceOption,
  type ModelFlags,
  modelOptions,
  realNumber,
  wholeNumber,
} from '../options.ts';

interface PerplexityFlags extends ModelFlags, DeviceFlags, JsonFlags {
  readonly file?: string;
  readonly chunks?: number;
  readonly golden?: string;
  readonly maxDifference?: number;
  readonly minAgreement?: number;
}

const DEFAULT_CONTEXT = 512;

/**
 * Positions whose logits are kept at once: enough for efficient matrix products, little memory for large vocabularies.
 */
const LOGIT_ROWS = 64;

/** `rocmforge perplexity`: how well a model predicts a text, or how much it differs from a golden. */
export const perplexityCommand: CliCommand<PerplexityFlags> = {
  options: [
    new Option(
      '-f, --file <path>',
      'a text: perplexity in chunks of --context tokens (default: 512)',
    ).conflicts('golden'),
    new Option('--chunks <count>', 'maximum number of chunks').argParser(wholeNumber(1)).conflicts('golden'),
    new Option('--golden <path>', 'forced decoding: compare logits with those of a .forced.jsonl file'),
    new Option(
      '--max-difference <logit>',
      'fail if a logit differs from the golden by more than this',
    ).argParser(realNumber),
    new Option(
      '--min-agreement <share>',
      'fail if fewer of the golden’s clear top tokens agree than this fraction',
    ).argParser(realNumber),
    jsonOption(),
    ...modelOptions(),
    loadTraceOption(),
    ...deviceOptions(),
  ],
  examples: [
    [
      'perplexity -m model.gguf -f wiki.test.raw',
      "llama.cpp's method: the second halves of chunks of 512 tokens",
    ],
    ['perplexity -m model.gguf -f text.txt -c 2048 --chunks 8', 'a few longer chunks'],
    ['perplexity -m model.gguf --golden model.forced.jsonl --min-agreement 0.99', 'compare with a reference'],
  ],
  async run({ flags }, context) {
    checkLimits(flags);
    if (flags.golden !== undefined) return judgeByGolden(flags, flags.golden, context);
    if (flags.file !== undefined) return judgeByText(flags, flags.file, context);
    fail('INVALID_ARGUMENT', { name: 'perplexity', found: 'neither', expected: '--file or --golden' });
  },
};

/** Throws `INVALID_ARGUMENT` for limits of a comparison that is not requested. */
function checkLimits({ golden, maxDifference, minAgreement }: PerplexityFlags): void {
  if (golden !== undefined) return;
  const limits = { '--max-difference': maxDifference, '--min-agreement': minAgreement };
  for (const [name, value] of Object.entries(limits)) {
    if (value !== undefined) fail('INVALID_ARGUMENT', { name, found: 'no --golden', expected: 'a golden' });
  }
}

async function judgeByText(flags: PerplexityFlags, path: string, context: CommandContext): Promise<ExitCode> {
  const { output, signal } = context;
  // The file's final line break is not part of the text, as in llama.cpp.
  const text = (await readText(path)).replace(/\n$/, '');
  const size = flags.context ?? DEFAULT_CONTEXT;
  const { model, tell } = await loadFromFlags({ ...flags, context: size, logitRows: LOGIT_ROWS }, context);
  await using _model = model;
  const { addBos, bos } = model.tokenizer.special;
  const ids = model.tokenizer.encode(text);
  const begin = addBos ? bos : undefined;
  const chunks = perplexityChunks(ids, { context: size, begin, chunks: flags.chunks });
  output.note(`${ids.length} tokens, ${chunks.length} chunks of ${size}`);
  let last: PerplexityEstimate | undefined;
  const evaluate = (given: readonly number[], from: number) => model.evaluate(given, from, { signal });
  for await (const estimate of estimatePerplexity(chunks, evaluate)) {
    last = estimate;
    output.note(`[${estimate.chunk}/${estimate.chunks}] ${estimate.perplexity.toFixed(4)}`);
  }
  await tell();
  if (!last) return EXIT.failure;
  if (flags.json) await output.json({ model: model.gguf.name, context: size, ...last });
  else await output.line(`perplexity ${last.perplexity.toFixed(4)} ± ${last.error.toFixed(5)}`);
  return EXIT.ok;
}

async function judgeByGolden(
  flags: PerplexityFlags,
  path: string,
  context: CommandContext,
): Promise<ExitCode> {
  const sequences = parseGolden(await readText(path));
  const longest = sequences.reduce((most, { ids }) => Math.max(most, ids.length), 0);
  const options = {
    ...flags,
    cacheType: flags.cacheType ?? ('f32' as const),
    context: flags.context ?? longest,
  };
  const { model, tell } = await loadFromFlags({ ...options, logitRows: LOGIT_ROWS }, context);
  await using _model = model;
  const decoding = new ForcedDecoding();
  for (const sequence of sequences) {
    await decoding.compare(sequence, model.evaluate(sequence.ids, sequence.from, { signal: context.signal }));
    context.output.note(`${decoding.report().sequences} of ${sequences.length} sequences`);
  }
  await tell();
  const report = decoding.report();
  const missed = missedLimits(report, flags);
  if (flags.json) await context.output.json({ model: model.gguf.name, ...report, missed });
  else await context.output.write(describe(report));
  for (const limit of missed) context.output.warn(`missed: ${limit}`);
  return missed.length === 0 ? EXIT.ok : EXIT.failure;
}

function missedLimits(
  report: ForcedDecodingReport,
  { maxDifference, minAgreement }: PerplexityFlags,
): string[] {
  const missed: string[] = [];
  // Written so that NaN fails.
  if (maxDifference !== undefined && !(report.maxDifference <= maxDifference)) {
    missed.push(`a logit differs by ${report.maxDifference}, more than ${maxDifference}`);
  }
  if (minAgreement !== undefined && !(report.clearAgreement >= minAgreement)) {
    missed.push(`${report.clearAgreement} of the clear best tokens agree, less than ${minAgreement}`);
  }
  return missed;
}

function describe(report: ForcedDecodingReport): string {
  const percent = (share: number) => `${(100 * share).toFixed(2)} %`;
  const difference = report.logLikelihoodDifference;
  const lines = [
    ['positions', `${report.positions} in ${report.sequences} sequences`],
    ['largest logit difference', report.maxDifference.toExponential(3)],
    ['same best token', percent(report.agreement)],
    ['same clear best token', `${percent(report.clearAgreement)} of ${report.clearPositions}`],
    [
      'mean log-likelihood',
      `${report.logLikelihood.toFixed(5)} (golden ${report.goldenLogLikelihood.toFixed(5)})`,
    ],
    ['difference', `${difference < 0 ? '' : '+'}${difference.toFixed(5)}`],
  ] as const;
  return lines.map(([name, value]) => `${name.padEnd(26)}${value}\n`).join('');
}

async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return fail('SOURCE_UNAVAILABLE', { source: path, reason }, error);
  }
}
