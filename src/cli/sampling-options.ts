import { readFileSync } from 'node:fs';
import { InvalidArgumentError, Option } from 'commander';
import type { GenerateOptions } from '../engine/generate-options.ts';
import {
  DEFAULT_HOST_SAMPLING,
  DEFAULT_SAMPLING,
  SAMPLING_OPTIONS,
  type SamplerName,
  type SamplingOption,
  samplerNamed,
  SAMPLERS,
  validateHostSampling,
  validateSampling,
} from '../ops/index.ts';
import { realNumber, repeated, wholeNumber } from './options.ts';

/** Options of text generation, as flags. Defaults are the library's. */
export interface SamplingFlags extends Omit<
  GenerateOptions,
  | 'logitBias'
  | 'signal'
  | 'shift'
  | 'speculation'
  | 'schema'
  | 'json'
  | 'regex'
  | 'choices'
  | 'grammar'
  | 'constraint'
> {
  readonly greedy?: boolean;
  readonly schema?: unknown;
  readonly regex?: string;
  readonly choices?: readonly string[];
  readonly jsonObject?: boolean;
  readonly grammar?: string;
  readonly contextShift?: number;
  readonly logitBias?: ReadonlyMap<number, number>;
}

/** Flags that choose how tokens are sampled. */
export type SamplingChoiceFlags = Pick<
  SamplingFlags,
  'greedy' | 'logProbabilities' | SamplingOption['name'] | 'seed' | 'logitBias' | (typeof CHAIN_NAMES)[number]
>;

/** The flags that are passed to the library under their own names: sampling, and where the text ends. */
const { masked: _, dryPenalties: __, ...ON_DEVICE } = DEFAULT_SAMPLING;
const CHOICES = { ...ON_DEVICE, ...DEFAULT_HOST_SAMPLING };
const CHOICE_NAMES = Object.keys(CHOICES) as (keyof typeof CHOICES)[];
const CHAIN_NAMES = ['samplers', 'drySequenceBreakers'] as const satisfies readonly (keyof GenerateOptions)[];
const TEXT_NAMES = [
  'maxTokens',
  'stop',
  'ignoreEnd',
  'special',
  'schema',
  'regex',
  'choices',
  'grammar',
] as const satisfies readonly (keyof GenerateOptions)[];

/** Options for how a text is generated and where it ends. */
export function samplingOptions(): Option[] {
  return [...choiceOptions(), ...endOptions(), ...formOptions()].map((option) =>
    option.helpGroup('Generation:'),
  );
}

function choiceOptions(): Option[] {
  return [
    ...SAMPLING_OPTIONS.map(({ name, argument, text, standard }) => {
      const flag = name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
      return new Option(`--${flag} <${argument}>`, `${text} (default: ${standard})`).argParser(realNumber);
    }),
    new Option(
      '--samplers <names>',
      `samplers in order, separated by semicolons, or llama.cpp's letters (default: ${SAMPLERS.slice(0, -1).join(';')})`,
    ).argParser(samplersArgument),
    new Option(
      '--dry-sequence-breakers <text>',
      'a text that interrupts repetitions for DRY; repeatable (default: a line break, :, " and *)',
    ).argParser(repeated),
    new Option('--greedy', 'always take the most likely token; same as --temperature 0').conflicts(
      'temperature',
    ),
    new Option(
      '--seed <number>',
      'random seed; the same seed gives the same text on a device (default: random)',
    ).argParser(wholeNumber(0)),
    new Option(
      '--logit-bias <id=value>',
      'add a value to the logit of a token id; -inf forbids it; repeatable',
    ).argParser(bias),
  ];
}

function endOptions(): Option[] {
  return [
    new Option(
      '-n, --max-tokens <count>',
      'maximum tokens to generate (default: up to the end of the context)',
    ).argParser(wholeNumber(1)),
    new Option('--stop <text>', 'stop string; repeatable').argParser(stopArgument),
    new Option(
      '--context-shift <keep>',
      'when the context is full, drop the older half after the first <keep> tokens and continue',
    ).argParser(wholeNumber(0)),
    new Option('--ignore-end', "continue after the model's end-of-generation token"),
    new Option('--special', 'print control tokens by name'),
  ];
}

function formOptions(): Option[] {
  return [
    new Option('--schema <file or text>', 'constrain the text to JSON that satisfies this JSON schema')
      .argParser(schemaArgument)
      .conflicts(['regex', 'choices', 'jsonObject']),
    new Option('--json-object', 'constrain the text to a JSON object').conflicts(['regex', 'choices']),
    new Option('--regex <pattern>', 'constrain the whole text to match this regular expression').conflicts(
      'choices',
    ),
    new Option('--grammar <file or text>', "constrain the text to this grammar in llama.cpp's GBNF")
      .argParser(grammarArgument)
      .conflicts(['schema', 'jsonObject', 'regex', 'choices']),
    new Option('--choices <texts>', 'constrain the text to one of these, separated by commas').argParser(
      (text) => text.split(','),
    ),
  ];
}

function stopArgument(text: string, before?: readonly string[]): readonly string[] {
  if (text === '') throw new InvalidArgumentError('An empty stop string ends no text: leave it out.');
  return repeated(text, before);
}

/** Names of samplers, or a word of their letters. */
function samplersArgument(text: string): SamplerName[] {
  const names = /^[a-z]+$/.test(text) && !samplerNamed(text) ? [...text] : text.split(/[;,]/);
  return names.map((name) => {
    const known = samplerNamed(name);
    if (!known)
      throw new InvalidArgumentError(`There is no sampler ${name}; there are ${SAMPLERS.join(', ')}.`);
    return known;
  });
}

/** A grammar, recognized by its rules, or a file with one. */
function grammarArgument(given: string): string {
  try {
    return given.includes('::=') ? given : readFileSync(given, 'utf8');
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new InvalidArgumentError(`Expected a grammar, or a file with one: ${reason}`);
  }
}

/** A schema, or a file with one. */
function schemaArgument(given: string): unknown {
  try {
    const text = /^\s*(?:\{|true|false)/.test(given) ? given : readFileSync(given, 'utf8');
    return JSON.parse(text);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new InvalidArgumentError(`Expected a JSON schema, or a file with one: ${reason}`);
  }
}

function bias(text: string, before: ReadonlyMap<number, number> = new Map()): ReadonlyMap<number, number> {
  const [, id, value = ''] = /^(\d+)=(\S+)$/.exec(text) ?? [];
  if (id === undefined) throw new InvalidArgumentError('Expected a token id, =, a number or -inf.');
  return new Map(before).set(Number(id), value === '-inf' ? Number.NEGATIVE_INFINITY : realNumber(value));
}

/** How tokens are sampled by default, for a server; the same flags as those of a single text. */
export function samplingDefaultOptions(): Option[] {
  return choiceOptions().map((option) => option.helpGroup('Sampling of requests that say nothing else:'));
}

/** The sampling that flags choose. Throws `INVALID_ARGUMENT` for a value out of range. */
export function samplingChoice(flags: SamplingChoiceFlags): GenerateOptions {
  const choice = { ...pick(flags, CHOICE_NAMES), ...(flags.greedy ? { temperature: 0 } : {}) };
  validateSampling({ ...DEFAULT_SAMPLING, ...choice });
  validateHostSampling({ ...DEFAULT_HOST_SAMPLING, ...choice });
  return { ...choice, ...pick(flags, CHAIN_NAMES) };
}

/** The library's options for flags. Throws `INVALID_ARGUMENT` for a value out of range, before a model is loaded. */
export function generateOptions(flags: SamplingFlags, signal: AbortSignal): GenerateOptions {
  const shift = flags.contextShift === undefined ? undefined : { keep: flags.contextShift };
  const json = flags.jsonObject;
  return { ...samplingChoice(flags), ...pick(flags, TEXT_NAMES), ...(json && { json }), shift, signal };
}

/** The named properties that are present. */
function pick<T, K extends keyof T>(from: T, names: readonly K[]): Pick<T, K> {
  const present = names.filter((name) => from[name] !== undefined).map((name) => [name, from[name]]);
  return Object.fromEntries(present) as Pick<T, K>;
}
