import { Argument, Option } from 'commander';
import { fail } from '../../base/errors.ts';
import type { LanguageModel } from '../../engine/language-model.ts';
import type { TextStream } from '../../engine/text-stream.ts';
import type { ChatMessage } from '../../text/index.ts';
import { type Answer, type AnswerForm, streamAnswer } from '../answer.ts';
import { type AnswerFlags, markdownOption } from '../answer-writer.ts';
import type { CliCommand, CommandContext } from '../command.ts';
import { type LoadedModel, loadFromFlags } from '../load.ts';
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
import { hasForm, reasoningOf, reasoningOptions } from '../reasoning-options.ts';
import { generateOptions, type SamplingFlags, samplingOptions } from '../sampling-options.ts';
import { type TemplateFlags, templateOptions } from '../template-options.ts';
import { readStandardInput } from '../standard-input.ts';
import { messageOfFile, type SystemFlags, systemOf, systemOptions } from '../text-files.ts';
import { timingsOf, timingsText } from '../timings.ts';

interface RunFlags
  extends ModelFlags, DeviceFlags, SamplingFlags, JsonFlags, AnswerFlags, TemplateFlags, SystemFlags {
  readonly prompt?: string | undefined;
  readonly promptFile?: string;
  readonly raw?: boolean;
  readonly jsonStream?: boolean;
  readonly logprobs?: number;
  readonly stdinTimeout?: number;
  readonly promptCache?: string;
}

/**
 * A question that the bundled model answers with a clear margin, so that rounding differences between machines do not
 * matter.
 */
const DEFAULT_PROMPT = 'What is the capital of France?';

/** `rocmforge run`: one prompt, one answer. */
export const runCommand: CliCommand<RunFlags> = {
  arguments: [
    new Argument('[prompt]', `the prompt, as with -p (default: standard input, else "${DEFAULT_PROMPT}")`),
  ],
  options: [
    new Option('-p, --prompt <text>', 'the prompt').conflicts('promptFile'),
    new Option('--prompt-file <file>', 'a file with the prompt'),
    ...systemOptions().map((option) => option.conflicts('raw')),
    markdownOption(),
    new Option('--raw', 'continue the prompt as plain text, without the chat template'),
    new Option(
      '--stdin-timeout <seconds>',
      'ignore standard input if nothing arrives within this time',
    ).argParser(realNumber),
    new Option(
      '--prompt-cache <file>',
      'keep the KV cache in a file: the next run computes only what its prompt adds to this one',
    ).conflicts('lora'),
    jsonOption(),
    new Option('--json-stream', 'print the answer as a stream of JSON objects, then the result').conflicts(
      'json',
    ),
    new Option(
      '--logprobs <count>',
      'with --json or --json-stream: log probabilities, including this many of the most likely tokens',
    ).argParser(wholeNumber(0)),
    ...modelOptions(),
    ...templateOptions().map((option) => option.conflicts('raw')),
    ...draftOptions(),
    loadTraceOption(),
    profileOption(),
    ...deviceOptions(),
    ...samplingOptions(),
    ...reasoningOptions(),
  ],
  examples: [
    ['run "What is the capital of France?"', 'a first answer from the bundled model'],
    ['run -m model.gguf "Write a haiku about rain." --temperature 0.7', 'a prompt for your own model'],
    [
      'run -m model.gguf --prompt-file report.txt --system "Summarize in three sentences."',
      'a prompt from a file',
    ],
    ['run -m base.gguf --raw -p "Once upon a time" -n 100', 'let a base model continue a text'],
    [
      'run -m model.gguf --lora law.gguf --lora terse.gguf=0.5',
      'two LoRA adapters, one of them at half strength',
    ],
    [
      `run -p "Name a fruit and its colour." --schema '{"type":"object","properties":{"fruit":{"type":"string"},"colour":{"enum":["red","green"]}},"required":["fruit","colour"],"additionalProperties":false}'`,
      'an answer that satisfies a JSON schema',
    ],
    ['run --json < question.txt', 'a prompt from a file, the result as JSON'],
    ['run -m model.gguf -p "Once" --dry-multiplier 0.8', 'fewer repetitions'],
    ['run -m model.gguf -p "Once" --mirostat 2 --mirostat-tau 4', 'tokens of a constant surprise'],
    [
      'run -m model.gguf -p "Once" --samplers "temperature;min_p" --min-p 0.1',
      'samplers in an order of your own',
    ],
  ],
  async run({ args, flags: given }, context) {
    const flags = { ...given, prompt: promptOf(args[0], given), system: await systemOf(given) };
    checkFlags(flags);
    const logProbabilities = flags.logprobs;
    const sampling = logProbabilities === undefined ? flags : { ...flags, logProbabilities };
    const options = generateOptions(sampling, context.signal);
    const asked = await askedPrompt(flags, context);
    const loaded = await loadFromFlags(flags, context);
    await using model = loaded.model;
    const prompt = asked ?? DEFAULT_PROMPT;
    if (asked === undefined) context.output.note(`> ${prompt}`);
    const { promptCache } = flags;
    if (promptCache !== undefined) {
      const { restorePrompt } = await import('../prompt-cache.ts');
      await restorePrompt(model, promptCache, context.signal);
    }
    const raw = await isRaw(flags, model);
    const stream = raw
      ? model.generate(prompt, options)
      : model.chat(turns(prompt, flags), {
          ...options,
          reasoning: reasoningOf(flags, { options, dialect: model.dialect }),
        });
    const form: AnswerForm = flags.json ? 'json' : flags.jsonStream ? 'json-lines' : 'text';
    const isMarkdown = !raw && !hasForm(options);
    const answer = await streamAnswer(stream, { form, output: context.output, flags, isMarkdown });
    if (form !== 'text') await context.output.json(resultOf({ prompt, answer, stream, loaded }));
    const { backend, name } = model.device.info;
    const loading = `loaded in ${loaded.seconds.toFixed(2)} s${firstTokenText(answer)}`;
    context.output.note(`${timingsText(timingsOf(stream.end))} | ${loading} | ${backend}: ${name}`);
    if (promptCache !== undefined) {
      const { savePrompt } = await import('../prompt-cache.ts');
      await savePrompt(model, promptCache);
    }
    await loaded.tell();
    return undefined;
  },
};

/** The prompt of the command line. Throws `INVALID_ARGUMENT` for two. */
function promptOf(
  argument: string | readonly string[] | undefined,
  { prompt, promptFile }: RunFlags,
): string | undefined {
  if (typeof argument !== 'string') return prompt;
  if (prompt === undefined && promptFile === undefined) return argument;
  const found = prompt === undefined ? '--prompt-file as well' : '--prompt as well';
  return fail('INVALID_ARGUMENT', { name: '[prompt]', found, expected: 'one prompt' });
}

/** Throws `INVALID_ARGUMENT` for flags without effect, before a model is loaded. */
function checkFlags({ logprobs, json, jsonStream }: RunFlags): void {
  if (logprobs === undefined || json || jsonStream) return;
  const expected = 'one of them, where log-probabilities are shown';
  fail('INVALID_ARGUMENT', { name: '--logprobs', found: 'neither --json nor --json-stream', expected });
}

/** The user's prompt; undefined if there is none. */
async function askedPrompt(flags: RunFlags, { signal, output }: CommandContext): Promise<string | undefined> {
  if (flags.prompt !== undefined) return flags.prompt;
  if (flags.promptFile !== undefined) return messageOfFile(flags.promptFile, '--prompt-file');
  const onWaiting = () =>
    output.note('waiting for the prompt on standard input; rocmforge run "..." needs none');
  const text = await readStandardInput({ waitSeconds: flags.stdinTimeout, onWaiting, signal });
  // The line break belongs to the shell, not the prompt.
  const prompt = text?.replace(/\r?\n$/, '');
  return prompt === undefined || prompt.trim() === '' ? undefined : prompt;
}

/** A system message requires a template. */
async function isRaw(flags: RunFlags, model: LanguageModel): Promise<boolean> {
  const { raw, system, chatTemplate, chatTemplateFile } = flags;
  if (raw) return true;
  if ((system ?? chatTemplate ?? chatTemplateFile) !== undefined) return false;
  const { chatTemplateNames } = await import('../../text/index.ts');
  return !chatTemplateNames(model.gguf.metadata).includes('default');
}

function turns(prompt: string, { system }: RunFlags): ChatMessage[] {
  const user: ChatMessage = { role: 'user', content: prompt };
  return system === undefined ? [user] : [{ role: 'system', content: system }, user];
}

function firstTokenText({ firstTokenSeconds: seconds }: Answer): string {
  return seconds === undefined ? '' : `, first token ${seconds.toFixed(2)} s after the start of the process`;
}

function resultOf(of: { prompt: string; answer: Answer; stream: TextStream; loaded: LoadedModel }) {
  const { model, seconds } = of.loaded;
  const { end } = of.stream;
  const scored = of.answer.tokens[0]?.logProbability !== undefined;
  return {
    model: model.gguf.name,
    device: model.device.info,
    prompt: of.prompt,
    text: of.answer.text,
    reasoning: of.answer.reasoning === '' ? undefined : of.answer.reasoning,
    reason: end.reason,
    stop: end.stop,
    ids: of.answer.tokens.map(({ id }) => id),
    logProbabilities: scored ? of.answer.tokens : undefined,
    loadSeconds: seconds,
    firstTokenSeconds: of.answer.firstTokenSeconds,
    ...timingsOf(end),
  };
}
