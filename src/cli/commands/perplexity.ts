import { Option } from 'commander';
import { fail, invariant } from '../../base/errors.ts';
import { type DivergenceReport, estimateDivergence } from '../../evaluate/divergence.ts';
import { ForcedDecoding, type ForcedDecodingReport } from '../../evaluate/forced-decoding.ts';
import { parseGolden } from '../../evaluate/golden.ts';
import { estimatePerplexity, type PerplexityEstimate, perplexityChunks } from '../../evaluate/perplexity.ts';
import { BaseLogitsKeeper, BaseLogitsReader } from '../base-logits-file.ts';
import type { CliCommand, CommandContext } from '../command.ts';
import { divergenceNote, divergenceText } from '../divergence-text.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { loadFromFlags } from '../load.ts';
import { Pace } from '../pace.ts';
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
import { readText } from '../text-files.ts';

interface PerplexityFlags extends ModelFlags, DeviceFlags, JsonFlags {
  readonly file?: string;
  readonly chunks?: number;
  readonly golden?: string;
  readonly maxDifference?: number;
  readonly minAgreement?: number;
  readonly klDivergence?: boolean;
  readonly klDivergenceBase?: string;
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
    new Option(
      '--kl-divergence-base <file>',
      "write the model's log probabilities to a file in llama.cpp's format, as the base of comparisons",
    ).conflicts('golden'),
    new Option(
      '--kl-divergence',
      'compare with the log probabilities in the file of --kl-divergence-base, which has the text as well',
    ).conflicts(['golden', 'file', 'chunks', 'context']),
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
    [
      'perplexity -m model-f16.gguf -f text.txt --kl-divergence-base base.kld',
      'keep what the original predicts',
    ],
    [
      'perplexity -m model-Q4_K_M.gguf --kl-divergence --kl-divergence-base base.kld',
      'how far a quantization is from it; rocmforge compare needs no file',
    ],
    ['perplexity -m model.gguf --golden model.forced.jsonl --min-agreement 0.99', 'compare with a reference'],
  ],
  async run({ flags }, context) {
    checkLimits(flags);
    if (flags.klDivergence) return judgeByBase(flags, context);
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
  const ids = await model.tokenizer.encodeInTurns(text, { signal });
  const begin = addBos ? bos : undefined;
  const chunks = perplexityChunks(ids, { context: size, begin, chunks: flags.chunks });
  output.note(`${ids.length} tokens, ${chunks.length} chunks of ${size}`);
  let last: PerplexityEstimate | undefined;
  const evaluate = (given: readonly number[], from: number) => model.evaluate(given, from, { signal });
  const saved = flags.klDivergenceBase;
  await using keeper =
    saved === undefined ? undefined : new BaseLogitsKeeper(saved, { context: size, chunks }, signal);
  const judged = keeper ? keeper.kept(evaluate) : evaluate;
  const pace = new Pace();
  for await (const estimate of estimatePerplexity(chunks, judged)) {
    last = estimate;
    const { chunk, chunks: all, perplexity } = estimate;
    const left = pace.text(chunk, all);
    output.note(`[${chunk}/${all}] ${perplexity.toFixed(4)}${left}`);
  }
  await tell();
  if (!last) return EXIT.failure;
  if (flags.json) await output.json({ model: model.gguf.name, context: size, ...last });
  else await output.line(`perplexity ${last.perplexity.toFixed(4)} ± ${last.error.toFixed(5)}`);
  return EXIT.ok;
}

async function judgeByBase(flags: PerplexityFlags, context: CommandContext): Promise<ExitCode> {
  const { output, signal } = context;
  const path = flags.klDivergenceBase;
  if (path === undefined) {
    const expected = '--kl-divergence-base with the file of the base';
    return fail('INVALID_ARGUMENT', { name: '--kl-divergence', found: 'no base', expected });
  }
  await using base = await BaseLogitsReader.open(path);
  const { context: size, chunks: texts } = base.header;
  const { model, tell } = await loadFromFlags({ ...flags, context: size, logitRows: LOGIT_ROWS }, context);
  await using _model = model;
  const { addBos, bos } = model.tokenizer.special;
  const chunks = texts.map(([first = 0, ...rest]) => [addBos ? (bos ?? first) : first, ...rest]);
  const evaluate = (given: readonly number[], from: number) => model.evaluate(given, from, { signal });
  const expected = async function* (given: readonly number[], from: number) {
    for (let position = from; position < given.length; position++) yield await base.next();
  };
  let last: DivergenceReport | undefined;
  let done = 0;
  const pace = new Pace();
  for await (const report of estimateDivergence(chunks, evaluate, expected)) {
    last = report;
    done++;
    output.note(`[${done}/${chunks.length}] ${divergenceNote(report)}${pace.text(done, chunks.length)}`);
  }
  await tell();
  invariant(last, 'a file has at least one chunk');
  if (flags.json) await output.json({ model: model.gguf.name, context: size, ...last });
  else await output.write(divergenceText(last));
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
