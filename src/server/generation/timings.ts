import type { TextEnd } from '../../engine/text-stream.ts';

/** Times and counts of a text under the names of llama.cpp's server. Times are in milliseconds. */
export interface Timings {
  readonly cache_n: number;
  readonly prompt_n: number;
  readonly prompt_ms: number;
  readonly prompt_per_token_ms: number;
  readonly prompt_per_second: number;
  readonly predicted_n: number;
  readonly predicted_ms: number;
  readonly predicted_per_token_ms: number;
  readonly predicted_per_second: number;
  readonly draft_n?: number;
  readonly draft_n_accepted?: number;
}

type TimedCount =
  | 'promptTokens'
  | 'cachedTokens'
  | 'generatedTokens'
  | 'promptSeconds'
  | 'generateSeconds'
  | 'proposedTokens'
  | 'acceptedTokens';

/** The timings of a text, or of what there is of it. Its first token comes with the prompt, so that the others make up its rate. */
export function timingsOf(end: Pick<TextEnd, TimedCount>): Timings {
  const { promptTokens, cachedTokens, generatedTokens: predicted_n } = end;
  const prompt_n = promptTokens - cachedTokens;
  const [prompt_ms, predicted_ms] = [1000 * end.promptSeconds, 1000 * end.generateSeconds];
  const steps = Math.max(0, predicted_n - 1);
  return {
    cache_n: cachedTokens,
    prompt_n,
    prompt_ms,
    prompt_per_token_ms: ratio(prompt_ms, prompt_n),
    prompt_per_second: ratio(1000 * prompt_n, prompt_ms),
    predicted_n,
    predicted_ms,
    predicted_per_token_ms: steps > 0 ? predicted_ms / steps : 0,
    predicted_per_second: steps > 0 ? ratio(1000 * steps, predicted_ms) : 0,
    ...(end.proposedTokens > 0 && { draft_n: end.proposedTokens, draft_n_accepted: end.acceptedTokens }),
  };
}

function ratio(of: number, by: number): number {
  return by > 0 ? of / by : 0;
}

/** The timings of a request with a single text; those of several are not comparable with one request's. */
export function soleTimings(ends: readonly TextEnd[]): { readonly timings?: Timings } {
  const [only, ...others] = ends;
  return only && others.length === 0 ? { timings: timingsOf(only) } : {};
}
