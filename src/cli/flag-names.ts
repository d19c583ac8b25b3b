import type { Option } from 'commander';
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

/** An option of the library by a name that is no word of a language. */
const NAME = /(?<![\w./-])[a-z]+[A-Z]\w*(?![\w/-]|\.\w)/g;
/** One with a value: `experts: 'device'`. */
const SETTING = /(?<![\w./-])(\w+): '([^']*)'/g;

/** The error with the flags of a command in place of the library's options that they set; other errors as they are. */
export function withFlagNames(error: unknown, options: readonly Option[]): unknown {
  if (!isRocmforgeError(error)) return error;
  const flagOf = (name: string) => {
    const attribute = FLAGS_OF_OPTIONS[name] ?? name;
    return options.find((option) => option.attributeName() === attribute)?.long;
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
    const isName = error.code === 'INVALID_ARGUMENT' && key === 'name';
    return [key, (isName ? flagOf(value) : undefined) ?? inText(value)];
  });
  return new RocmforgeError(error.code, Object.fromEntries(named), { cause: error });
}
