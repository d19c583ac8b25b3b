import { Argument, Option } from 'commander';
import { fail, invariant } from '../../base/errors.ts';
import type { LanguageModel } from '../../engine/language-model.ts';
import { baseModel, type DivergenceReport, estimateDivergence } from '../../evaluate/divergence.ts';
import { perplexityChunks } from '../../evaluate/perplexity.ts';
import type { CliCommand, CommandContext } from '../command.ts';
import { divergenceNote, divergenceText } from '../divergence-text.ts';
import { EXIT } from '../exit-codes.ts';
import { loadFromFlags } from '../load.ts';
import {
  contextOption,
  type DeviceFlags,
  deviceOptions,
  type JsonFlags,
  jsonOption,
  type ModelFlags,
  realNumber,
  wholeNumber,
} from '../options.ts';
import { requireStandardInput } from '../standard-input.ts';
import { type HubFlags, hubOptions } from '../hub-options.ts';
import { textOfFile } from '../text-files.ts';

interface CompareFlags extends Pick<ModelFlags, 'context'>, DeviceFlags, JsonFlags, HubFlags {
  readonly file?: string;
  readonly chunks?: number;
  readonly maxDivergence?: number;
}

const DEFAULT_CONTEXT = 512;
/** Positions whose logits are kept at once, of both models. */
const LOGIT_ROWS = 64;

/** `rocmforge compare`: how far a model's predictions are from those of another one. */
export const compareCommand: CliCommand<CompareFlags> = {
  arguments: [
    new Argument('<base>', 'the model to be compared with: a file, an address or a name'),
    new Argument('<model>', 'another one with the same vocabulary, such as its quantization'),
  ],
  options: [
    new Option('-f, --file <path>', 'the text (default: standard input)'),
    new Option('--chunks <count>', 'maximum number of chunks').argParser(wholeNumber(1)),
    new Option(
      '--max-divergence <nats>',
      'exit code 1 if the mean KL divergence is larger than this',
    ).argParser(realNumber),
    contextOption(),
    jsonOption(),
    ...deviceOptions(),
    ...hubOptions(),
  ],
  examples: [
    ['compare model-f16.gguf model-Q4_K_M.gguf -f wiki.test.raw --chunks 16', 'what a quantization costs'],
    [
      'compare a.gguf b.gguf -c 64 --max-divergence 0.01 --json < text.txt',
      'for a script: fail beyond a limit',
    ],
  ],
  async run({ args, flags }, context) {
    const [baseLocation, location] = args as [string, string];
    const { output } = context;
    const text =
      flags.file === undefined
        ? await requireStandardInput(context.signal)
        : await textOfFile(flags.file, '--file');
    const size = flags.context ?? DEFAULT_CONTEXT;
    const load = (model: string) =>
      loadFromFlags({ ...flags, model, context: size, logitRows: LOGIT_ROWS }, context);
    await using base = (await load(baseLocation)).model;
    await using model = (await load(location)).model;
    const report = await compared(
      { base, model, text: text.replace(/\n$/, ''), size, chunks: flags.chunks },
      context,
    );
    const { mean } = report.divergence;
    const { maxDivergence: most } = flags;
    // Written so that NaN fails.
    const isMissed = most !== undefined && !(mean <= most);
    if (flags.json)
      await output.json({ base: base.gguf.name, model: model.gguf.name, context: size, ...report });
    else await output.write(divergenceText(report));
    if (isMissed) output.warn(`the mean KL divergence is ${mean}, more than ${most}`);
    return isMissed ? EXIT.failure : EXIT.ok;
  },
};

interface Comparison {
  readonly base: LanguageModel;
  readonly model: LanguageModel;
  readonly text: string;
  readonly size: number;
  readonly chunks: number | undefined;
}

async function compared(
  { base, model, text, size, chunks: most }: Comparison,
  { output, signal }: CommandContext,
): Promise<DivergenceReport> {
  const ids = await base.tokenizer.encodeInTurns(text, { signal });
  if (ids.join() !== (await model.tokenizer.encodeInTurns(text, { signal })).join()) {
    const expected = 'the tokens that the base makes of the text';
    fail('INVALID_ARGUMENT', { name: 'model', found: 'other tokens', expected });
  }
  const { addBos, bos } = base.tokenizer.special;
  const chunks = perplexityChunks(ids, { context: size, begin: addBos ? bos : undefined, chunks: most });
  const evaluate = (of: LanguageModel) => (given: readonly number[], from: number) =>
    of.evaluate(given, from, { signal });
  let last: DivergenceReport | undefined;
  let done = 0;
  for await (const report of estimateDivergence(chunks, evaluate(model), baseModel(evaluate(base)))) {
    last = report;
    done++;
    output.note(`[${done}/${chunks.length}] ${divergenceNote(report)}`);
  }
  invariant(last, 'a text has at least one chunk');
  return last;
}
