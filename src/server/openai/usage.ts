import type { TextEnd } from '../../engine/text-stream.ts';

/** Token counts of a request, as in OpenAI's chat and completions. */
export interface Usage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
  readonly prompt_tokens_details: { readonly cached_tokens: number };
}

/** The usage for a prompt and the ends of its choices. */
export function usageOf(promptTokens: number, ends: readonly TextEnd[]): Usage {
  const generated = ends.reduce((sum, end) => sum + end.generatedTokens, 0);
  const cached = Math.max(0, ...ends.map((end) => end.cachedTokens));
  return {
    prompt_tokens: promptTokens,
    completion_tokens: generated,
    total_tokens: promptTokens + generated,
    prompt_tokens_details: { cached_tokens: cached },
  };
}
