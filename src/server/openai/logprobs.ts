import type { ScoredId } from '../../engine/score.ts';
import type { SampledToken, ScoredToken } from '../../runtime/jobs/sampled-token.ts';
import type { Tokenizer } from '../../text/index.ts';

/** A token with its log probability, as in OpenAI's chat; `bytes` for tokens that are not whole characters. */
export interface TokenLogprob {
  readonly token: string;
  readonly logprob: number;
  readonly bytes: readonly number[];
}

/** An entry of `choices[].logprobs.content`. */
export interface ContentLogprob extends Omit<TokenLogprob, 'logprob'> {
  /** Null for the first token of a prompt, which follows nothing. */
  readonly logprob: number | null;
  readonly top_logprobs: readonly TokenLogprob[];
}

/** JSON has no -Infinity; OpenAI uses this instead. */
const LEAST = -9999;

/** The log probabilities of a sampled token. */
export function contentLogprob(tokenizer: Tokenizer, token: SampledToken): ContentLogprob {
  const { id, logProbability = LEAST, alternatives, named = alternatives } = token;
  const top = named.map((scored) => tokenLogprob(tokenizer, scored));
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
  readonly token_logprobs: (number | null)[];
  readonly top_logprobs: (Record<string, number> | null)[];
  /** The offset of each token, in UTF-16 units from the start of the answer. */
  readonly text_offset: number[];
}

/** A token with how much of the text it is, in UTF-16 units. */
export type PlacedLogprob = ContentLogprob & { readonly length: number };

/** The same in the older format; `offset` is where the first token begins. */
export function completionLogprobs(content: readonly PlacedLogprob[], offset: number): CompletionLogprobs {
  const result: CompletionLogprobs = { tokens: [], token_logprobs: [], top_logprobs: [], text_offset: [] };
  let at = offset;
  for (const { token, logprob, top_logprobs, length } of content) {
    result.tokens.push(token);
    result.token_logprobs.push(logprob);
    const top = Object.fromEntries(top_logprobs.map((one) => [one.token, one.logprob]));
    result.top_logprobs.push(logprob === null ? null : top);
    result.text_offset.push(at);
    at += length;
  }
  return result;
}

/** An entry of vLLM's `prompt_logprobs`: an id and its alternatives, by their ids. */
export function promptLogprob(tokenizer: Tokenizer, score: ScoredId): object {
  const entry = ({ id, logProbability }: ScoredToken, rank: number) => {
    const { token, logprob } = tokenLogprob(tokenizer, { id, logProbability });
    return [id, { logprob, rank, decoded_token: token }] as const;
  };
  const alternatives = score.alternatives.map((one, at) => entry(one, at + 1));
  return Object.fromEntries([...alternatives, entry(score, score.rank)]);
}
