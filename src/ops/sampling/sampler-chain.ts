import { AdaptiveP } from './adaptive-p.ts';
import { forbid, penalize } from './adjust-logits.ts';
import type { Candidates, StageContext } from './candidates.ts';
import { pick, weigh } from './draw.ts';
import { dryPenalties } from './dry.ts';
import { largestOf, sumOfWeights } from './exponential-sum.ts';
import type { ChainParameters } from './host-sampling.ts';
import { Mirostat } from './mirostat.ts';
import { areValidLogits, NO_TOKEN } from './no-token.ts';
import { drawUniform } from './random.ts';
import type { SamplerName } from './samplers.ts';
import type { SamplingParameters } from './sampling-row.ts';
import type { SamplingScratch } from './sampling-scratch.ts';
import { dynamicTemperature } from './stages/dynamic-temperature.ts';
import { minP } from './stages/min-p.ts';
import { topNSigma } from './stages/top-n-sigma.ts';
import { topP } from './stages/top-p.ts';
import { typical } from './stages/typical.ts';
import { xtc } from './stages/xtc.ts';

/** Temperatures below this are greedy: logits divided by them may not be representable. */
const MIN_TEMPERATURE = 2 ** -100;

/** A position's logits, and what is known of its sequence. */
export interface ChainRow {
  /** One logit per token of the vocabulary; not changed. */
  readonly logits: Float32Array;
  /** The sequence's ids so far. */
  readonly ids: readonly number[];
  /** The sequence's mask, `maskWords` of the vocabulary; undefined if every token is allowed. */
  readonly mask: Int32Array | undefined;
  readonly scratch: SamplingScratch;
}

/** A token with its natural log-probability. */
export interface ChainScore {
  readonly id: number;
  readonly logProbability: number;
}

/** A drawn token, or a value of `NO_TOKEN`; with log-probabilities if they are reported. */
export interface ChainToken {
  readonly id: number;
  readonly logProbability: number | undefined;
  readonly alternatives: readonly ChainScore[];
  /** The named tokens' log-probabilities before any sampler; undefined if none are named. */
  readonly named: readonly ChainScore[] | undefined;
}

/** A row that is being sampled: `candidates` are ranked by their logits in `logits`. */
interface Working {
  readonly candidates: Candidates;
  readonly logits: Float32Array;
  readonly occurrences: Int32Array;
  readonly ids: readonly number[];
  /** Number of candidates in the beginning. */
  readonly all: number;
  readonly context: Omit<StageContext, 'beside'>;
}

/**
 * Samples a sequence's tokens on the host by samplers in any order, or by mirostat: llama.cpp's sampler chain. It keeps what one
 * token leaves for the next. In the usual order it draws the same tokens as `sampleRow`, but for the rounding of logits that a
 * temperature divides.
 */
export class SamplerChain {
  readonly #sampling: SamplingParameters;
  readonly #parameters: ChainParameters;
  readonly #mirostat: Mirostat | undefined;
  readonly #adaptive: AdaptiveP | undefined;
  /** Added to the seed: positions repeat after a shift, random numbers must not. */
  #shifts = 0;

  constructor(sampling: SamplingParameters, parameters: ChainParameters) {
    this.#sampling = sampling;
    this.#parameters = parameters;
    const { mirostat, mirostatTau: target, mirostatEta: rate } = parameters;
    if (mirostat === 1 || mirostat === 2) this.#mirostat = new Mirostat(mirostat, { target, rate });
    else if (parameters.samplers.includes('adaptive_p')) {
      this.#adaptive = new AdaptiveP(parameters.adaptiveTarget, parameters.adaptiveDecay);
    }
  }

  /** Positions will repeat. */
  shift(): void {
    this.#shifts++;
  }

  /** Samples the token after a sequence's last id. */
  sample(row: ChainRow): ChainToken {
    const { logits: raw, scratch, ids, mask } = row;
    if (!areValidLogits(raw)) return this.#nothing(NO_TOKEN.nonFinite);
    scratch.logits.set(raw);
    if (mask) forbid(scratch.logits, mask);
    for (const [id, bias] of this.#sampling.logitBias) {
      if (id < raw.length) scratch.logits[id] = (scratch.logits[id] as number) + bias;
    }
    const { candidates, logits, occurrences } = scratch;
    candidates.fillAll(logits);
    const { temperature } = this.#sampling;
    const uniform = this.#uniform(ids.length - 1);
    const context = { temperature, minKeep: this.#parameters.minKeep, uniform };
    const working: Working = { candidates, logits, occurrences, ids, all: candidates.count, context };
    if (this.#mirostat) {
      if (candidates.count > 0) heat(working, temperature);
      if (candidates.count > 0) this.#mirostat.narrow(candidates, logits);
    } else {
      for (const name of this.#parameters.samplers) {
        if (candidates.count > 0) this.#run(name, working);
      }
      if (temperature < MIN_TEMPERATURE) candidates.keepBest(1);
    }
    return candidates.count === 0 ? this.#nothing(NO_TOKEN.forbidden) : this.#draw(raw, working);
  }

  #draw(raw: Float32Array, { candidates, logits, context }: Working): ChainToken {
    if (this.#adaptive) {
      this.#adaptive.apply(candidates, logits);
      candidates.rankByLogit(logits);
    }
    const total = weigh(candidates, logits, 1);
    const at = pick(candidates, context.uniform(0) * total);
    const id = candidates.ids[at] as number;
    const probability = (candidates.keys[at] as number) / total;
    this.#mirostat?.accept(probability);
    this.#adaptive?.accept(id);
    const { namedTokens, reportsDrawn } = this.#parameters;
    const wanted = this.#sampling.logProbabilities;
    const isRaw = namedTokens.length > 0 || (wanted >= 0 && !reportsDrawn);
    const drawn = wanted >= 0 && reportsDrawn ? best(candidates, wanted, (key) => Math.log(key / total)) : [];
    const logarithm = isRaw ? logarithmsOf(raw) : undefined;
    const named =
      namedTokens.length > 0 && logarithm
        ? namedTokens.map((token) => ({ id: token, logProbability: logarithm(raw[token] as number) }))
        : undefined;
    if (wanted < 0) return { id, logProbability: undefined, alternatives: [], named };
    if (reportsDrawn || !logarithm) {
      return { id, logProbability: Math.log(probability), alternatives: drawn, named };
    }
    candidates.fillTop(raw, Math.min(wanted, raw.length));
    const alternatives = best(candidates, wanted, logarithm);
    return { id, logProbability: logarithm(raw[id] as number), alternatives, named };
  }

  /** Runs a sampler; a temperature of 0 takes the most likely token, whatever samplers narrow the candidates. */
  #run(name: SamplerName, working: Working): void {
    const { candidates, logits, context } = working;
    const isGreedy = context.temperature < MIN_TEMPERATURE;
    if (isGreedy && name !== 'penalties' && name !== 'dry') return;
    const { topNSigma: sigma, topK, typicalP, topP: sum, minP: part, ...of } = this.#sampling;
    const beside = (value: number): StageContext => ({ ...context, beside: value });
    const plain = beside(0);
    switch (name) {
      case 'penalties':
        return this.#penalize(working);
      case 'dry':
        return this.#penalizeRepetitions(working);
      case 'top_n_sigma':
        return sigma > 0 ? keepTopNSigma(working, sigma) : undefined;
      case 'top_k':
        if (topK === 0 || topK >= candidates.count) return undefined;
        // One pass over all logits takes less time than ranking them.
        return candidates.count === working.all
          ? candidates.fillTop(logits, topK)
          : candidates.keepBest(topK);
      case 'typ_p':
        return typicalP < 1 ? typical(candidates, logits, typicalP, plain) : undefined;
      case 'top_p':
        return sum < 1 ? topP(candidates, logits, sum, plain) : undefined;
      case 'min_p':
        return part > 0 ? minP(candidates, logits, part, plain) : undefined;
      case 'xtc':
        return of.xtcProbability > 0
          ? xtc(candidates, logits, of.xtcProbability, beside(of.xtcThreshold))
          : undefined;
      case 'temperature': {
        const { dynatempRange: range, dynatempExponent: exponent, temperature } = of;
        return heat(
          working,
          range > 0 ? dynamicTemperature(candidates, range, beside(exponent)) : temperature,
        );
      }
      case 'adaptive_p':
        // It draws, wherever it is named.
        return undefined;
    }
  }

  #penalize({ candidates, logits, occurrences, ids }: Working): void {
    const {
      repeatPenalty: repeat,
      frequencyPenalty: frequency,
      presencePenalty: presence,
      penaltyWindow,
    } = this.#sampling;
    if (repeat === 1 && frequency === 0 && presence === 0) return;
    const end = ids.length;
    const start = penaltyWindow < 0 ? 0 : Math.max(0, end - penaltyWindow);
    const history = Int32Array.from(ids.slice(start));
    penalize(
      { logits, occurrences },
      history,
      { start: 0, end: history.length },
      { repeat, frequency, presence },
    );
    candidates.rankByLogit(logits);
  }

  #penalizeRepetitions({ candidates, logits, ids }: Working): void {
    const { dry } = this.#parameters;
    if (!dry) return;
    for (const [id, penalty] of dryPenalties(ids, dry)) {
      if (id < logits.length) logits[id] = (logits[id] as number) - penalty;
    }
    candidates.rankByLogit(logits);
  }

  #uniform(position: number): (changed: number) => number {
    const { seed } = this.#sampling;
    const low = (seed % 2 ** 32) | 0;
    const high = (Math.floor(seed / 2 ** 32) + this.#shifts) | 0;
    return (changed) => drawUniform(low ^ changed, high, position);
  }

  #nothing(id: number): ChainToken {
    const named = this.#parameters.namedTokens.length > 0 ? [] : undefined;
    const isReported = this.#sampling.logProbabilities >= 0;
    return { id, logProbability: isReported ? Number.NaN : undefined, alternatives: [], named };
  }
}

/** Divides the candidates' logits by a temperature; one of 0 leaves the most likely candidate. */
function heat({ candidates, logits }: Working, temperature: number): void {
  if (temperature < MIN_TEMPERATURE) return candidates.keepBest(1);
  if (temperature === 1) return;
  const { ids, count } = candidates;
  for (let i = 0; i < count; i++) {
    const id = ids[i] as number;
    logits[id] = (logits[id] as number) / temperature;
  }
  candidates.rankByLogit(logits);
}

/** Top-n-sigma of the candidates that are left. */
function keepTopNSigma({ candidates, logits }: Working, n: number): void {
  const { ids, count } = candidates;
  const left = ids.slice(0, count);
  const values = Float32Array.from(left, (id) => logits[id] as number);
  logits.fill(Number.NEGATIVE_INFINITY);
  for (let i = 0; i < count; i++) logits[left[i] as number] = values[i] as number;
  topNSigma(logits, n);
  candidates.fillAll(logits);
}

/** The best possible candidates with their log-probabilities. */
function best(candidates: Candidates, wanted: number, logarithm: (key: number) => number): ChainScore[] {
  candidates.unrank();
  const found = Array.from({ length: Math.min(wanted, candidates.count) }, (_, rank) => {
    const at = candidates.indexOf(rank);
    return { id: candidates.ids[at] as number, logProbability: logarithm(candidates.keys[at] as number) };
  });
  return found.filter(({ logProbability }) => logProbability > Number.NEGATIVE_INFINITY);
}

/** The natural log-probability of a logit among others. */
function logarithmsOf(logits: Float32Array): (logit: number) => number {
  const largest = largestOf(logits, logits.length);
  const logTotal = Math.log(sumOfWeights(logits, logits.length, largest));
  return (logit) => (logit === largest ? 0 : logit - largest) - logTotal;
}
