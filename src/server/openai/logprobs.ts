import type { SampledToken, ScoredToken } from '../../runtime/jobs/sampled-token.ts';
import type { Tokenizer } from '../../text/index.ts';

/** A token with its log probability, as in OpenAI's chat; `bytes` for tokens that are not whole characters. */
export interface TokenLogprob {
  readonly token: string;
  readonly logprob: number;
  readonly bytes: readonly number[];
}

/** An entry of `choices[].logprobs.content`. */
export interface ContentLogprob extends TokenLogprob {
  readonly top_logprobs: readonly TokenLogprob[];
}

/** JSON has no -Infinity; OpenAI uses this instead. */
const LEAST = -9999;

/** The log probabilities of a sampled token. */
export function contentLogprob(tokenizer: Tokenizer, token: SampledToken): ContentLogprob {
  const { id, logProbability = LEAST, alternatives } = token;
  const top = alternatives.map((scored) => tokenLogprob(tokenizer, scored));
  return { ...tokenLogprob(tokenizer, { id, logProbability }), top_logprobs: top };
}

function tokenLogprob(tokenizer: Tokenizer, { id, logProbability }: ScoredToken): TokenLogprob {
  const bytes = tokenizer.tokenBytes(id);
  const logprob = Number.isFinite(logProbability) ? logProbability : LEAST;
  return { token: new TextDecoder().decode(bytes), logprob, bytes: Array.from(bytes) };
}

/** `choices[].logprobs` of the older completions. */
export interface CompletionLogprobs {
  readonly tokens: string[];
  readonly token_logprobs: number[];
  readonly top_logprobs: Record<string, number>[];
  /** The offset of each token, in UTF-16 units from the start of the answer. */
  readonly text_offset: number[];
}

/** The same in the older format; `offset` is where the first token begins. */
export function completionLogprobs(content: readonly ContentLogprob[], offset: number): CompletionLogprobs {
  const result: CompletionLogprobs = { tokens: [], token_logprobs: [], top_logprobs: [], text_offset: [] };
  let at = offset;
  for (const { token, logprob, top_logprobs } of content) {
    result.tokens.push(token);
    result.token_logprobs.push(logprob);
    result.top_logprobs.push(Object.fromEntries(top_logprobs.map((top) => [top.token, top.logprob])));
    result.text_offset.push(at);
    at += token.length;
  }
  return result;
}
