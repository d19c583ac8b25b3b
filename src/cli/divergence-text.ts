import type { DivergenceReport, Estimate, Spread } from '../evaluate/divergence.ts';

/** A comparison with a base, for people. */
export function divergenceText(report: DivergenceReport): string {
  const { divergence, probability, logRatio } = report;
  const lines: readonly (readonly [string, string])[] = [
    ['positions', String(report.positions)],
    ['perplexity', estimateText(report.perplexity, 4)],
    ['perplexity of the base', estimateText(report.basePerplexity, 4)],
    ['ln of their ratio', estimateText(logRatio, 5)],
    ['KL divergence', estimateText(divergence, 6)],
    ...spreadLines(divergence, (value) => value.toFixed(6)),
    ['same best token', percentText(report.sameTop)],
    ['RMS of Δp', percentText(report.probabilityRms)],
    ['mean Δp', percentText(probability)],
    ['  from, to', `${percent(probability.minimum)}, ${percent(probability.maximum)}`],
  ];
  return lines.map(([name, value]) => `${name.padEnd(26)}${value}\n`).join('');
}

/** The state after some chunks, in a line. */
export function divergenceNote(report: DivergenceReport): string {
  const { perplexity, divergence, sameTop } = report;
  return `perplexity ${perplexity.mean.toFixed(4)}, KL divergence ${divergence.mean.toFixed(6)}, same best token ${percent(sameTop.mean)}`;
}

function spreadLines(
  { median, p90, p99, p999, maximum }: Spread,
  text: (value: number) => string,
): (readonly [string, string])[] {
  return [
    ['  median', text(median)],
    ['  90 %, 99 %, 99.9 %', [p90, p99, p999].map(text).join(', ')],
    ['  maximum', text(maximum)],
  ];
}

function estimateText({ mean, error }: Estimate, digits: number): string {
  return `${mean.toFixed(digits)} ± ${error.toFixed(digits)}`;
}

function percentText({ mean, error }: Estimate): string {
  return `${(100 * mean).toFixed(3)} ± ${(100 * error).toFixed(3)} %`;
}

function percent(share: number): string {
  return `${(100 * share).toFixed(3)} %`;
}
