import type { DryParameters } from './dry.ts';
import { between, MAX_WORD, NUMBER_ROWS, type Rule, type SamplingNumberName, whole } from './sampling-row.ts';
import type { SamplerName } from './samplers.ts';

/**
 * Sampling parameters that a device does not know: the host draws the tokens of sequences with mirostat, `minKeep`, or samplers
 * in another order from their logits, and computes DRY's penalties before each step.
 */
export interface HostNumbers {
  /** Scales DRY's penalties of tokens that continue a repetition; 0 disables it. */
  readonly dryMultiplier: number;
  /** DRY's penalty grows by this factor with each repeated token. */
  readonly dryBase: number;
  /** The longest repetition that DRY does not penalize, in tokens. */
  readonly dryAllowedLength: number;
  /** Number of latest tokens in which DRY looks for repetitions; 0 for none, -1 for all. */
  readonly dryPenaltyLastN: number;
  /** The version of mirostat, which replaces all stages but the temperature; 0 disables it (Basu et al. 2021). */
  readonly mirostat: number;
  /** Mirostat's target for the surprise of a token, in bits. */
  readonly mirostatTau: number;
  /** How fast mirostat corrects the surprise. */
  readonly mirostatEta: number;
  /** The fewest tokens that typical, top-p, min-p and XTC leave. */
  readonly minKeep: number;
  /** The probability near which the sampler `adaptive_p` draws; negative disables it. */
  readonly adaptiveTarget: number;
  /** How slowly the sampler `adaptive_p` forgets the probabilities of earlier tokens. */
  readonly adaptiveDecay: number;
}

/** What the host draws a sequence's tokens by. */
export interface ChainParameters extends Omit<
  HostNumbers,
  'dryMultiplier' | 'dryBase' | 'dryAllowedLength' | 'dryPenaltyLastN'
> {
  /** The samplers, in order. */
  readonly samplers: readonly SamplerName[];
  readonly dry: DryParameters | undefined;
  /** Reported log-probabilities are those of the distribution that is drawn from. */
  readonly reportsDrawn: boolean;
  /** Token ids whose log-probabilities are always reported. */
  readonly namedTokens: readonly number[];
}

/** A number of `HostNumbers`, as used everywhere. */
interface HostNumber {
  readonly standard: number;
  readonly isWhole: boolean;
  readonly rule: Rule;
  readonly help: readonly [argument: string, text: string];
}

const HOST_NUMBERS: Readonly<Record<keyof HostNumbers, HostNumber>> = {
  dryMultiplier: {
    standard: 0,
    isWhole: false,
    rule: between(-100, 100),
    help: ['value', 'scales the penalty of tokens that continue a repetition (DRY); 0 disables it'],
  },
  dryBase: {
    standard: 1.75,
    isWhole: false,
    rule: between(0, 100),
    help: ['factor', "growth of DRY's penalty with each repeated token; below 1 disables it"],
  },
  dryAllowedLength: {
    standard: 2,
    isWhole: true,
    rule: whole(0, MAX_WORD),
    help: ['tokens', 'length of the repetitions from which DRY penalizes the next token'],
  },
  dryPenaltyLastN: {
    standard: 64,
    isWhole: true,
    rule: whole(-1, MAX_WORD),
    help: ['tokens', 'number of recent tokens in which DRY looks for repetitions; -1 for all'],
  },
  mirostat: {
    standard: 0,
    isWhole: true,
    rule: whole(0, 2),
    help: ['version', 'uses mirostat 1 or 2 instead of all stages but bias and temperature; 0 disables it'],
  },
  mirostatTau: {
    standard: 5,
    isWhole: false,
    rule: between(0, 100),
    help: ['bits', "mirostat's target for the surprise of a token"],
  },
  mirostatEta: {
    standard: 0.1,
    isWhole: false,
    rule: between(0, 100),
    help: ['rate', 'how fast mirostat corrects the surprise'],
  },
  minKeep: {
    standard: 0,
    isWhole: true,
    rule: whole(0, MAX_WORD),
    help: ['count', 'minimum number of tokens that typical, top-p, min-p and XTC leave'],
  },
  adaptiveTarget: {
    standard: -1,
    isWhole: false,
    rule: between(-100, 1),
    help: ['probability', 'near which the sampler adaptive_p draws; negative disables it'],
  },
  adaptiveDecay: {
    standard: 0.9,
    isWhole: false,
    rule: between(0, 0.99),
    help: ['factor', 'how slowly the sampler adaptive_p forgets earlier probabilities'],
  },
};

const HOST_ROWS = Object.entries(HOST_NUMBERS) as readonly (readonly [keyof HostNumbers, HostNumber])[];

/** Their defaults: llama.cpp's. */
export const DEFAULT_HOST_SAMPLING = Object.fromEntries(
  HOST_ROWS.map(([name, { standard }]) => [name, standard]),
) as unknown as HostNumbers;

/** The valid range of each. */
export const HOST_RULES = Object.fromEntries(HOST_ROWS.map(([name, { rule }]) => [name, rule])) as Readonly<
  Record<keyof HostNumbers, Rule>
>;

/** A numeric option: its name, the name of its argument and its help text. */
export interface SamplingOption {
  readonly name: Exclude<SamplingNumberName, 'logProbabilities'> | keyof HostNumbers;
  readonly argument: string;
  readonly text: string;
  readonly standard: number;
  readonly isWhole: boolean;
  readonly rule: Rule;
}

/** The numbers that flags and fields set, in order. */
export const SAMPLING_OPTIONS: readonly SamplingOption[] = [
  ...NUMBER_ROWS.map(([name, { word, ...row }]) => ({ ...row, name, isWhole: word === 'i32' })),
  ...HOST_ROWS.map(([name, row]) => ({ ...row, name })),
].flatMap(({ name, help, standard, isWhole, rule }) => {
  const [argument, text] = help ?? [];
  if (name === 'logProbabilities' || !argument || !text) return [];
  return [{ name, argument, text, standard, isWhole, rule }];
});
