/** A name in the spelling of request fields: `top_k`. */
export type Snake<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${Snake<Rest>}`
  : '';

/** The name in the spelling of request fields. */
export function snakeCase<Name extends string>(name: Name): Snake<Name> {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`) as Snake<Name>;
}

/** Library options whose fields have different names. */
const FIELDS: Readonly<Record<string, string>> = {
  allowedTokens: 'allowed_token_ids',
  bannedTokens: 'bad_words',
  ignoreEnd: 'ignore_eos',
  json: 'response_format',
  logProbabilities: 'top_logprobs',
  schema: 'response_format',
  slot: 'id_slot',
  stopTokens: 'stop_token_ids',
  toolChoice: 'tool_choice',
};

/** The request field for a library option; `body` for anything else. */
export function fieldOf(option: string): string {
  return FIELDS[option] ?? (/^\w+$/.test(option) ? snakeCase(option) : 'body');
}
