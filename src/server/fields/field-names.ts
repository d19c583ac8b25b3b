/** A name as fields of requests have it: `top_k`. */
export type Snake<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${Snake<Rest>}`
  : '';

/** The name as fields of requests have it. */
export function snakeCase<Name extends string>(name: Name): Snake<Name> {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`) as Snake<Name>;
}

/** Options of the library whose fields have other names. */
const FIELDS: Readonly<Record<string, string>> = {
  allowedTokens: 'allowed_token_ids',
  bannedTokens: 'bad_words',
  ignoreEnd: 'ignore_eos',
  json: 'response_format',
  logProbabilities: 'top_logprobs',
  schema: 'response_format',
  stopTokens: 'stop_token_ids',
  toolChoice: 'tool_choice',
};

/** The field of a request that says what an option of the library is; `body` for what is no option. */
export function fieldOf(option: string): string {
  return FIELDS[option] ?? (/^\w+$/.test(option) ? snakeCase(option) : 'body');
}
