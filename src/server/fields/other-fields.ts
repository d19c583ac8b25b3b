/** What happens to a known field of other servers that an endpoint does not support. */
export interface OtherField {
  /** Refused: without it, the answer would not be what was asked for. Harmless: the answer is the same without it. */
  readonly verdict: 'refused' | 'harmless';
  /** The reason, for the sender. */
  readonly why: string;
  /** Values with which a refused field asks for nothing, as null always does. */
  readonly neutral: readonly unknown[];
}

/** Such fields by name, or by path with `*` for any index of a list. */
export type OtherFields = Readonly<Record<string, OtherField>>;

function refused(why: string, ...neutral: readonly unknown[]): OtherField {
  return { verdict: 'refused', why, neutral };
}

function harmless(why: string): OtherField {
  return { verdict: 'harmless', why, neutral: [] };
}

const OF_ACCOUNTS = harmless('there are no accounts or bills here');
const IS_CACHED = harmless('prompts that begin alike share their cache always');
const IS_PACED = harmless('it says only how fast an answer comes');
const PART_OF_OFF = harmless('it says only how something is done that is refused where it is asked for');
const TEXT_ONLY = refused('only text comes in and goes out');
const NO_SAMPLER = 'there is no such sampler';
const NOT_STORED = 'nothing is stored: send the whole conversation';

/**
 * Known fields of OpenAI's, Anthropic's, vLLM's and llama.cpp's requests that are not supported unless an endpoint's
 * own schema has them. Fields that are in neither are reported to the sender.
 */
export const OTHER_FIELDS: OtherFields = {
  // OpenAI's.
  audio: TEXT_ONLY,
  background: refused('answers come at once; there is nothing to ask for them later', false),
  best_of: refused('each choice is given out: ask for n, and choose by logprobs', 1),
  context_management: refused('the conversation is taken as it is sent', []),
  conversation: refused(NOT_STORED),
  max_tool_calls: harmless('no tool is called by the server'),
  metadata: harmless('it is for the sender alone'),
  modalities: refused('only text comes in and goes out', ['text']),
  moderation: refused('nothing is moderated'),
  prediction: IS_PACED,
  previous_response_id: refused(NOT_STORED),
  prompt: refused('there are no stored prompts: send input and instructions'),
  prompt_cache_key: IS_CACHED,
  prompt_cache_options: IS_CACHED,
  prompt_cache_retention: IS_CACHED,
  safety_identifier: OF_ACCOUNTS,
  service_tier: OF_ACCOUNTS,
  store: harmless('nothing is stored, whatever is asked for'),
  suffix: refused('filling in the middle is not supported', ''),
  truncation: refused('a conversation is taken whole or refused', 'disabled'),
  user: OF_ACCOUNTS,
  verbosity: refused('no model here knows it: say in the conversation how long an answer is to be', 'medium'),
  web_search_options: refused('the server searches nothing'),

  // Anthropic's.
  betas: harmless('it names what the client may be sent'),
  cache_control: IS_CACHED,
  container: refused('nothing is carried out by the server'),
  inference_geo: OF_ACCOUNTS,
  mcp_servers: refused('the server calls no others', []),
  speed: IS_PACED,

  // vLLM's.
  add_special_tokens: refused('a conversation has the special tokens that its template writes', false),
  cache_salt: refused('prompts that begin alike share their cache always'),
  chat_template: refused('the template is chosen when the server is started: --chat-template'),
  documents: refused('say what is in them in the conversation', []),
  echo: refused('an answer is given out without what it follows', false),
  guided_decoding_backend: harmless('there is one kind of constraint'),
  guided_whitespace_pattern: refused('say by guided_grammar what stands between values'),
  include_reasoning: refused('reasoning is given out always, apart from the text', true),
  kv_transfer_params: refused('no cache is taken from other servers'),
  length_penalty: refused('there is no beam search', 1),
  logits_processors: refused('no code is taken from requests', []),
  media_io_kwargs: TEXT_ONLY,
  mm_processor_kwargs: TEXT_ONLY,
  prompt_embeds: refused('prompts are texts or ids'),
  prompt_logprobs: refused('log-probabilities are of what is generated', 0),
  spaces_between_special_tokens: harmless('tokens are written as they are'),
  use_beam_search: refused('there is no beam search', false),
  vllm_xargs: refused('there are no such extensions', {}),

  // llama.cpp's server's.
  adaptive_decay: PART_OF_OFF,
  adaptive_target: refused(NO_SAMPLER, -1),
  backend_sampling: IS_PACED,
  cache_prompt: IS_CACHED,
  dry_allowed_length: PART_OF_OFF,
  dry_base: PART_OF_OFF,
  dry_multiplier: refused(NO_SAMPLER, 0),
  dry_penalty_last_n: PART_OF_OFF,
  dry_sequence_breakers: PART_OF_OFF,
  grammar_lazy: refused('a grammar holds from the first token on', false),
  grammar_triggers: refused('a grammar holds from the first token on', []),
  id_slot: harmless('slots that hold the beginning of a prompt are found'),
  image_data: refused('only text comes in and goes out', []),
  min_keep: refused('stages keep as few tokens as they are told', 0, 1),
  mirostat: refused(NO_SAMPLER, 0),
  mirostat_eta: PART_OF_OFF,
  mirostat_tau: PART_OF_OFF,
  n_discard: PART_OF_OFF,
  n_indent: refused('lines may begin as they do', 0),
  n_keep: harmless('a full context ends the text'),
  parse_tool_calls: refused('calls are told from the text always', true),
  post_sampling_probs: refused('log-probabilities are those before sampling', false),
  preserved_tokens: harmless('tools are read by their tokens always'),
  reasoning_format: refused(
    'reasoning is given out apart from the text',
    'auto',
    'deepseek',
    'deepseek-legacy',
  ),
  'speculative.n_max': IS_PACED,
  'speculative.n_min': IS_PACED,
  'speculative.p_min': IS_PACED,
  t_max_predict_ms: refused('set max_tokens', 0),
  t_max_prompt_ms: refused('set --time-limit', 0, -1),

  // Fields inside others; `*` is any index of a list.
  'messages.*.annotations': harmless('it says where an earlier answer was from'),
  'messages.*.audio': TEXT_ONLY,
  'messages.*.cache_control': IS_CACHED,
  'messages.*.content.*.annotations': harmless('it says where an earlier answer was from'),
  'messages.*.content.*.cache_control': IS_CACHED,
  'messages.*.content.*.prompt_cache_breakpoint': IS_CACHED,
  'messages.*.refusal': harmless('an earlier answer’s own text is its content'),
  'response_format.json_schema.description': harmless('it tells the model nothing'),
  'response_format.json_schema.name': harmless('a form needs no name'),
  'response_format.json_schema.strict': harmless('a schema is held to always'),
  'stream_options.include_obfuscation': harmless('nothing is added to events to hide their lengths'),
  'tools.*.cache_control': IS_CACHED,
};
