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

/** A field that is refused, but for values that ask for nothing. */
export function refused(why: string, ...neutral: readonly unknown[]): OtherField {
  return { verdict: 'refused', why, neutral };
}

/** A field without which the answer is the same. */
export function harmless(why: string): OtherField {
  return { verdict: 'harmless', why, neutral: [] };
}

/** Fields that identify who pays. */
export const OF_ACCOUNTS = harmless('there are no accounts and no billing');
const IS_CACHED = harmless('prompts with a common prefix always share its cache');
const IS_PACED = harmless('it only affects speed');
/** Fields for images and sounds. */
export const TEXT_ONLY = refused('only text is supported');
const NOT_STORED = 'this endpoint stores nothing: send the whole conversation to it';

const NOT_SUMMARIZED = 'reasoning is returned as it is, not summarized';

const OTHER_LIMIT = 'this endpoint has another field for the limit';
const OTHER_FORM = 'this endpoint has another field for the form of the answer';
const OTHER_SWITCHES = 'this endpoint has other fields for reasoning and template variables, or none';

/**
 * Known fields of OpenAI's, Anthropic's, vLLM's and llama.cpp's requests that are not supported unless an endpoint's
 * own schema has them. Fields that are in neither are reported to the sender.
 */
export const OTHER_FIELDS: OtherFields = {
  // OpenAI's.
  audio: TEXT_ONLY,
  background: refused('only /v1/responses continues without its client', false),
  best_of: refused('only /v1/completions selects among texts', 1),
  context_management: refused('the conversation is used as it is sent', []),
  conversation: refused(NOT_STORED),
  max_tool_calls: harmless('the server calls no tools'),
  metadata: harmless('it is information for the client only'),
  modalities: refused('only text is supported', ['text']),
  moderation: refused('there is no moderation'),
  prediction: IS_PACED,
  previous_response_id: refused(NOT_STORED),
  prompt: refused('there are no stored prompts: send input and instructions'),
  prompt_cache_key: IS_CACHED,
  prompt_cache_options: IS_CACHED,
  prompt_cache_retention: IS_CACHED,
  safety_identifier: OF_ACCOUNTS,
  service_tier: OF_ACCOUNTS,
  store: harmless('this endpoint stores nothing in any case'),
  suffix: refused('send it to /v1/completions', ''),
  truncation: refused('a conversation is used completely or refused', 'disabled'),
  user: OF_ACCOUNTS,
  verbosity: refused(
    'not supported by the models: describe the desired length in the conversation',
    'medium',
  ),
  web_search_options: refused('there is no web search'),

  // Anthropic's.
  betas: harmless('it only lists what the client understands'),
  cache_control: IS_CACHED,
  container: refused('the server executes nothing'),
  diagnostics: harmless('the server has none'),
  inference_geo: OF_ACCOUNTS,
  mcp_servers: refused('the server does not call other servers', []),
  speed: IS_PACED,

  // vLLM's.
  add_special_tokens: refused('the template writes the special tokens of a conversation', false),
  cache_salt: harmless('nothing of this endpoint’s requests stays in the cache'),
  chat_template: refused('the template is set when the server starts: --chat-template'),
  documents: refused('include their contents in the conversation', []),
  echo: refused('an answer is returned without its prompt', false),
  guided_decoding_backend: harmless('there is only one implementation'),
  guided_whitespace_pattern: refused('use guided_grammar to control whitespace'),
  include: refused('this endpoint has other fields for what it returns', []),
  include_reasoning: refused('reasoning is always returned, separate from the text', true),
  kv_transfer_params: refused('caches cannot be transferred between servers'),
  length_penalty: refused('there is no beam search', 1),
  logits_processors: refused('requests cannot contain code', []),
  media_io_kwargs: TEXT_ONLY,
  logprob_token_ids: refused('only chat completions and completions report them', []),
  mm_processor_kwargs: TEXT_ONLY,
  prompt_embeds: refused('prompts must be texts or token ids'),
  prompt_logprobs: refused('log probabilities are only available for generated tokens', 0),
  output_format: refused('this field is called output_config.format'),
  spaces_between_special_tokens: harmless('tokens are decoded without added spaces'),
  use_beam_search: refused('there is no beam search', false),
  ec_transfer_params: refused('caches cannot be transferred between servers'),
  enable_response_messages: refused('answers are returned as items', false),
  previous_input_messages: refused('send the conversation as input', []),
  repetition_detection: refused('a text does not end at repetitions: dry_multiplier avoids them'),
  request_id: harmless('the id of a request is in the header x-request-id'),
  return_mm_kwargs: harmless('there is only text'),
  return_prompt_text: refused('/apply-template returns prompts as text', false),
  return_token_ids: refused('only /completion returns token ids: return_tokens', false),
  return_token_offsets: refused('offsets of tokens are not known', false),
  return_tokens_as_token_ids: refused('tokens are reported as texts and bytes', false),
  routed_experts_prompt_start: harmless('the choices of experts are not reported'),
  session_id: IS_CACHED,
  skip_reading_prefix_cache: IS_PACED,
  stream_interval: harmless('each token is sent as it is generated'),
  thinking_token_budget: refused('this field is called reasoning_budget_tokens', -1),
  truncation_side: refused('truncate_prompt_tokens keeps the end of the prompt', 'left'),
  vllm_xargs: refused('there are no extensions', {}),
  watermarking: refused('texts have no watermark', false),

  // llama.cpp's server's.
  backend_sampling: IS_PACED,
  cache_prompt: IS_CACHED,
  grammar_lazy: refused('a grammar applies from the first token', false),
  grammar_triggers: refused('a grammar applies from the first token', []),
  image_data: refused('only text is supported', []),
  chat_format: harmless('answers are parsed in the syntax of the model’s template'),
  generation_prompt: harmless('answers are parsed in the syntax of the model’s template'),
  n_cache_reuse: IS_PACED,
  n_cmpl: refused('this field is called n', 1),
  n_discard: refused('a context that is shifted loses half of its text', 0),
  n_indent: refused('indentation cannot be constrained', 0),
  parse_tool_calls: refused('calls are always parsed', true),
  post_sampling_probs: refused('only /completion reports such probabilities', false),
  preserved_tokens: harmless('the tokens of tool calls are always recognized'),
  reasoning_format: refused(
    'reasoning is returned separately from the text',
    'auto',
    'deepseek',
    'deepseek-legacy',
  ),
  reasoning_in_content: refused('reasoning is returned separately from the text', false),
  sse_ping_interval: harmless('a comment is sent every ten seconds'),
  'speculative.n_max': IS_PACED,
  'speculative.n_min': IS_PACED,
  'speculative.p_min': IS_PACED,
  'speculative.type': IS_PACED,
  thinking_forced_open: harmless('answers are parsed in the syntax of the model’s template'),
  t_max_predict_ms: refused('set max_tokens', 0),
  t_max_prompt_ms: refused('set --time-limit', 0, -1),

  // Fields of other endpoints.
  add_generation_prompt: refused('this endpoint always starts an answer', true),
  chat_template_kwargs: refused(OTHER_SWITCHES, {}),
  continue_final_message: refused('only /v1/chat/completions supports it', false),
  instructions: refused('send a message with the role system', ''),
  logprobs: refused('this endpoint does not report them by this field', false, 0),
  max_completion_tokens: refused(OTHER_LIMIT),
  max_output_tokens: refused(OTHER_LIMIT),
  max_tokens: refused(OTHER_LIMIT),
  n: refused('this endpoint generates one answer', 1),
  n_predict: refused(OTHER_LIMIT),
  output_config: refused(OTHER_FORM, {}),
  parallel_tool_calls: harmless('it only matters with tools'),
  reasoning: refused(OTHER_SWITCHES, {}),
  reasoning_budget_tokens: refused(OTHER_SWITCHES, -1),
  reasoning_effort: refused(OTHER_SWITCHES),
  response_format: refused(OTHER_FORM, { type: 'text' }),
  stop_sequences: refused('this endpoint calls it stop', []),
  stream_options: harmless('usage is always reported'),
  system: refused('send a message with the role system', ''),
  text: refused(OTHER_FORM, {}, { format: { type: 'text' } }),
  thinking: refused(OTHER_SWITCHES),
  thinking_budget_tokens: refused(OTHER_SWITCHES, -1),
  tool_choice: refused('tools are for conversations', 'none', 'auto'),
  tools: refused('tools are for conversations', []),
  top_logprobs: refused('this endpoint does not report them by this field', 0),

  // Fields inside others; `*` is any index of a list.
  'input.*.content.*.annotations': harmless('it only cites the sources of an earlier answer'),
  'input.*.content.*.logprobs': harmless('the text of an earlier answer is what counts'),
  'input.*.content.*.prompt_cache_breakpoint': IS_CACHED,
  'input.*.phase': harmless('an earlier answer counts as it is'),
  'messages.*.annotations': harmless('it only cites the sources of an earlier answer'),
  'messages.*.audio': TEXT_ONLY,
  'messages.*.cache_control': IS_CACHED,
  'messages.*.content.*.caller': harmless('all calls are of the model'),
  'messages.*.content.*.citations': harmless('it only cites the sources of an earlier answer'),
  'messages.*.content.*.content.*.cache_control': IS_CACHED,
  'messages.*.content.*.annotations': harmless('it only cites the sources of an earlier answer'),
  'messages.*.content.*.cache_control': IS_CACHED,
  'messages.*.content.*.prompt_cache_breakpoint': IS_CACHED,
  'messages.*.refusal': harmless('the text of an earlier answer is its content'),
  'prompt.multimodal_data': refused('only text is supported', []),
  'prompt.*.multimodal_data': refused('only text is supported', []),
  'reasoning.context': refused('reasoning in the input always counts', 'auto', 'all_turns'),
  'reasoning.generate_summary': refused(NOT_SUMMARIZED, 'auto'),
  'reasoning.mode': refused('models have one mode', 'standard'),
  'reasoning.summary': refused(NOT_SUMMARIZED, 'auto'),
  'response_format.json_schema.description': harmless('it is not shown to the model'),
  'response_format.json_schema.name': harmless('the schema’s name has no effect'),
  'response_format.json_schema.strict': harmless('schemas are always enforced'),
  'stream_options.include_obfuscation': harmless('events are never padded'),
  'system.*.cache_control': IS_CACHED,
  'text.format.description': harmless('it is not shown to the model'),
  'text.format.name': harmless('the schema’s name has no effect'),
  'text.format.strict': harmless('schemas are always enforced'),
  'text.verbosity': refused(
    'not supported by the models: describe the desired length in the conversation',
    'medium',
  ),
  'tools.*.allowed_callers': refused('only the model calls tools', ['direct']),
  'tools.*.cache_control': IS_CACHED,
  'tools.*.defer_loading': refused('all tools are shown to the model', false),
  'tools.*.eager_input_streaming': harmless('arguments are always streamed as they are generated'),
};

/** The fields that change how many tokens a conversation has; no others matter where tokens are counted. */
export const COUNTED_FIELDS: OtherFields = Object.fromEntries(
  Object.entries(OTHER_FIELDS).filter(
    ([name]) =>
      ['cache_control', 'container', 'context_management', 'mcp_servers'].includes(name) ||
      /^(?:messages|system|tools)\./.test(name),
  ),
);
