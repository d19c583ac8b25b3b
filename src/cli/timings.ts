import type { TextEnd } from '../engine/text-stream.ts';
import type { GenerationEnd } from '../runtime/sequence.ts';

/** The speed of an answer. Rates are undefined if nothing was computed. */
export interface Timings extends Omit<
  GenerationEnd,
  'reason' | 'slot' | 'queueSeconds' | 'draftedSteps' | 'acceptedByPosition'
> {
  readonly promptTokensPerSecond: number | undefined;
  readonly generatedTokensPerSecond: number | undefined;
}

/** The rates of a finished text. */
export function timingsOf(end: TextEnd): Timings {
  const { promptTokens, cachedTokens, generatedTokens, proposedTokens, acceptedTokens } = end;
  const { promptSeconds, generateSeconds } = end;
  // The first token is sampled with the prompt's last row; the model's own end token takes a step but is not counted.
  const steps = generatedTokens - 1 + (end.reason === 'stop' && end.stop === undefined ? 1 : 0);
  return {
    promptTokens,
    cachedTokens,
    generatedTokens,
    proposedTokens,
    acceptedTokens,
    promptSeconds,
    generateSeconds,
    promptTokensPerSecond: rate(promptTokens - cachedTokens, promptSeconds),
    generatedTokensPerSecond: rate(steps, generateSeconds),
  };
}

/** One line for people. */
export function timingsText(timings: Timings): string {
  const { promptTokens, cachedTokens, generatedTokens } = timings;
  const cached = cachedTokens > 0 ? ` (${cachedTokens} cached)` : '';
  const prompt = `prompt ${promptTokens} tokens${cached}${rateText(timings.promptTokensPerSecond)}`;
  const generated = `generated ${generatedTokens} tokens${rateText(timings.generatedTokensPerSecond)}`;
  const drafts = `${timings.acceptedTokens} of ${timings.proposedTokens} draft tokens accepted`;
  return [prompt, generated, ...(timings.proposedTokens > 0 ? [drafts] : [])].join(' | ');
}

function rate(count: number, seconds: number): number | undefined {
  return count > 0 && seconds > 0 ? count / seconds : undefined;
}

function rateText(perSecond: number | undefined): string {
  if (perSecond === undefined) return '';
  return `, ${perSecond >= 100 ? perSecond.toFixed(0) : perSecond.toPrecision(3)} tok/s`;
}
