import type { SamplingParameters } from '../../../src/ops/index.ts';

interface Token {
  readonly id: number;
  readonly logit: number;
}

/** The tokens by falling logit, equal ones by id. */
function ranked(tokens: readonly Token[]): Token[] {
  return [...tokens].sort((a, b) => b.logit - a.logit || a.id - b.id);
}

function weigh(tokens: readonly Token[]): { tokens: (Token & { weight: number })[]; total: number } {
  const largest = Math.max(...tokens.map((token) => token.logit));
  const weighed = tokens.map((token) => ({ ...token, weight: Math.exp(token.logit - largest) }));
  return { tokens: weighed, total: weighed.reduce((sum, { weight }) => sum + weight, 0) };
}

/** The first tokens whose weights reach a share of all. */
function untilSum(tokens: readonly (Token & { weight: number })[], goal: number): Token[] {
  let sum = 0;
  const end = tokens.findIndex(({ weight }) => {
    sum += weight;
    return sum >= goal;
  });
  return end < 0 ? [...tokens] : tokens.slice(0, end + 1);
}

function typicalOf(tokens: readonly Token[], p: number): Token[] {
  const { tokens: weighed, total } = weigh(tokens);
  const surprise = (token: { weight: number }) => -Math.log(token.weight / total);
  const entropy = weighed.reduce((sum, t) => sum + (t.weight / total) * surprise(t), 0);
  const distance = (token: { weight: number }) => Math.abs(surprise(token) - entropy);
  weighed.sort((a, b) => distance(a) - distance(b) || a.id - b.id);
  return untilSum(weighed, p * total);
}

function topPOf(tokens: readonly Token[], p: number): Token[] {
  const { tokens: weighed, total } = weigh(ranked(tokens));
  return untilSum(weighed, p * total);
}

function topNSigmaOf(tokens: readonly Token[], n: number): Token[] {
  const mean = tokens.reduce((sum, { logit }) => sum + logit, 0) / tokens.length;
  const variance = tokens.reduce((sum, { logit }) => sum + (logit - mean) ** 2, 0) / tokens.length;
  const floor = Math.max(...tokens.map(({ logit }) => logit)) - n * Math.sqrt(variance);
  return tokens.filter(({ logit }) => logit >= floor);
}

function xtcOf(tokens: readonly Token[], threshold: number): Token[] {
  const { tokens: weighed, total } = weigh(ranked(tokens));
  const choices = weighed.filter(({ weight }) => weight / total >= threshold).length;
  return choices > 1 ? weighed.slice(choices - 1) : weighed;
}

/** The temperature, moved by the entropy of the tokens where that is asked for. */
function temperatureOf(tokens: readonly Token[], of: SamplingParameters): number {
  const [temperature, range] = [Math.fround(of.temperature), Math.fround(of.dynatempRange)];
  if (range <= 0 || tokens.length < 2) return temperature;
  const { tokens: weighed, total } = weigh(tokens);
  const entropy = weighed.reduce((sum, { weight }) => {
    const p = weight / total;
    return p > 0 ? sum - p * Math.log(p) : sum;
  }, 0);
  const part = entropy / Math.log(tokens.length);
  const low = Math.max(temperature - range, Math.min(temperature, 1 / 1024));
  return low + (temperature + range - low) * part ** Math.fround(of.dynatempExponent);
}

/** Bias, penalties and DRY, rounded to f32 after each. */
export function naiveLogits(
  logits: Float32Array,
  of: SamplingParameters,
  history: readonly number[],
): Float32Array {
  const recent =
    of.penaltyWindow < 0 ? history : history.slice(Math.max(0, history.length - of.penaltyWindow));
  return logits.map((logit, id) => {
    const biased = Math.fround(logit + Math.fround(of.logitBias.get(id) ?? 0));
    const times = recent.filter((token) => token === id).length;
    const dry = Math.fround(of.dryPenalties.get(id) ?? 0);
    if (times === 0) return biased - dry;
    const repeat = Math.fround(of.repeatPenalty);
    const repeated = biased > 0 ? biased / repeat : biased * repeat;
    const penalized = repeated - times * Math.fround(of.frequencyPenalty) - Math.fround(of.presencePenalty);
    return Math.fround(penalized) - dry;
  });
}

/** The tokens that the chain leaves, by id, with their probabilities. */
export function naiveDistribution(logits: Float32Array, of: SamplingParameters): Map<number, number> {
  let tokens: Token[] = [...logits]
    .map((logit, id) => ({ id, logit }))
    .filter(({ logit }) => logit > Number.NEGATIVE_INFINITY);
  if (of.topNSigma > 0) tokens = topNSigmaOf(tokens, Math.fround(of.topNSigma));
  if (of.topK > 0) tokens = ranked(tokens).slice(0, of.topK);
  if (of.typicalP < 1) tokens = typicalOf(tokens, Math.fround(of.typicalP));
  if (of.topP < 1) tokens = topPOf(tokens, Math.fround(of.topP));
  if (of.minP > 0) {
    tokens = weigh(tokens).tokens.filter(({ weight }) => weight >= Math.fround(of.minP));
  }
  if (of.xtcProbability === 1) tokens = xtcOf(tokens, Math.fround(of.xtcThreshold));
  const temperature = temperatureOf(tokens, of);
  const { tokens: weighed, total } = weigh(
    tokens.map(({ id, logit }) => ({ id, logit: logit / temperature })),
  );
  weighed.sort((a, b) => a.id - b.id);
  return new Map(weighed.map(({ id, weight }) => [id, weight / total]));
}
