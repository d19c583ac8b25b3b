import type { Command } from 'commander';
import { isRocmforgeError, RocmforgeError } from '../base/errors.ts';
import type { DeviceFlags, ModelFlags } from './options.ts';
import type { ServedAdapterFlags } from './served-adapter-options.ts';

type FlagName = keyof ModelFlags | keyof DeviceFlags | keyof ServedAdapterFlags | 'parallel';

/** The attributes of flags that are not called as the library's option that they set. */
const FLAGS_OF_OPTIONS: Readonly<Record<string, FlagName | undefined>> = {
  tensorParallel: 'gpus',
  pipelineParallel: 'gpus',
  sequences: 'parallel',
  adapters: 'lora',
  mergeAdapters: 'mergeLora',
  maxAdapters: 'maxLoras',
  maxAdapterRank: 'maxLoraRank',
  controlVectors: 'controlVector',
  controlVectorLayers: 'controlVectorLayerRange',
  predictor: 'draft',
  minDraftTokens: 'draftMin',
  minDraftProbability: 'draftPMin',
  'draft.device': 'draftDevice',
  'rope.scaling': 'ropeScaling',
  'rope.scale': 'ropeScale',
  'rope.base': 'ropeFreqBase',
  'rope.originalContext': 'yarnOrigCtx',
  'rope.extrapolation': 'yarnExtFactor',
  'rope.attention': 'yarnAttnFactor',
  'rope.betaFast': 'yarnBetaFast',
  'rope.betaSlow': 'yarnBetaSlow',
};

/** A name in camelCase, which no sentence has by itself. */
const NAME = /(?<![\w./-])[a-z]+[A-Z]\w*(?![\w/-]|\.\w)/g;
/** An option of the library with a value: `experts: 'device'`. */
const SETTING = /(?<![\w./-])(\w+): '([^']*)'/g;

/** A name in what was found, which may also be the user's words: `gpuLayers 3`, `no controlVectors`. */
const FOUND = /(?<![\w./-])[a-z]+[A-Z]\w*(?= \S)|(?<=^no )\w+$/g;

/** What our sentences are in of an error, and not the user's own words. */
const SENTENCES: Readonly<Record<string, readonly string[] | undefined>> = {
  INVALID_ARGUMENT: ['expected'],
  DEVICE_UNAVAILABLE: ['why'],
};

/** The error with a command's flags in place of the library's options that they set; others as they are. */
export function withFlagNames(error: unknown, command: Command): unknown {
  if (!isRocmforgeError(error)) return error;
  const flagOf = (name: string) => {
    const attribute = attributeOf(name, command);
    return command.options.find((option) => option.attributeName() === attribute)?.long;
  };
  const inText = (text: string) =>
    text
      .replace(SETTING, (setting, name: string, value: string) => {
        const flag = flagOf(name);
        return flag === undefined ? setting : `${flag} ${value}`;
      })
      .replace(NAME, (name) => flagOf(name) ?? name);
  const named = Object.entries(error.params).map(([key, value]: [string, unknown]) => {
    if (typeof value !== 'string') return [key, value];
    if (error.code === 'INVALID_ARGUMENT' && key === 'name') return [key, flagOf(value) ?? value];
    if (error.code === 'INVALID_ARGUMENT' && key === 'found')
      return [key, value.replace(FOUND, (name) => flagOf(name) ?? name)];
    return [key, SENTENCES[error.code]?.includes(key) ? inText(value) : value];
  });
  const renamed = new RocmforgeError(error.code, Object.fromEntries(named), { cause: error.cause });
  if (renamed.message === error.message) return error;
  renamed.stack = error.stack?.replace(error.message, () => renamed.message) ?? '';
  return renamed;
}

/** The attribute of the flag that sets an option of the library: draft tokens are set by another one with a draft model. */
function attributeOf(name: string, command: Command): string {
  const isDrafted = name === 'speculation' && command.getOptionValue('draftMax') !== undefined;
  return isDrafted ? 'draftMax' : (FLAGS_OF_OPTIONS[name] ?? name);
}
