/** What the failure of a case means: who is right, or that nobody can say. */
interface Verdict {
  /** Matches the file and the name of the case, with a space between them. */
  readonly cases: RegExp;
  readonly says: 'not counted' | 'ours' | 'theirs' | 'neither';
  readonly why: string;
}

/** Why cases fail, in order: the first that matches a case says it. Cases without one are open. */
export const VERDICTS: readonly Verdict[] = [
  {
    cases: /^test_(?:vision_api|mcp_servers|proxy|tools_builtin)\.py|test_local_media_file|cors_proxy/,
    says: 'not counted',
    why: 'images, audio, MCP, proxies and built-in tools',
  },
  {
    cases:
      /with_tools_enabled|_on_multimodal|_multimodal|mmproj|_with_image|_with_two_images|image_payload|vision/,
    says: 'not counted',
    why: 'images, audio, MCP, proxies and built-in tools',
  },
  {
    cases: /download_model|delete_model|remote_preset|reload_models|dedup_cache/,
    says: 'theirs',
    why: 'presets of models, and downloads at run time, are not offered',
  },
  {
    cases: /synth|with_and_without_draft/,
    says: 'theirs',
    why: 'drafts cannot be accepted at made-up rates, which only tests need',
  },
  {
    cases: /static_assets/,
    says: 'ours',
    why: 'these are files of their page; ours has others, which need no key either',
  },
  {
    cases: /Allow-Headers-/,
    says: 'ours',
    why: '`*` does not cover `Authorization` (Fetch standard): we name the headers',
  },
  { cases: /Allow-Credentials/, says: 'ours', why: 'the server uses no cookies, so pages need not send any' },
  {
    cases: /test_chat_completion\[.*This is not a chat template/,
    says: 'ours',
    why: 'a template that does not contain the conversation is refused',
  },
  {
    cases: /assistant_prefill\[prefill1/,
    says: 'ours',
    why: 'the parts of a message are one text; llama.cpp puts empty lines between those of a beginning',
  },
  {
    cases:
      /test_chat_completion\[None-Book|test_chat_completion_stream\[Book|test_completion(?:_stream)?\[|_with_openai_library/,
    says: 'neither',
    why: "the text that it expects is what llama.cpp's random numbers draw at a temperature of 0.8",
  },
  {
    cases: /llama_telemetry/,
    says: 'ours',
    why: "a response that a limit cuts off ends with `response.incomplete` (OpenAI's API), not `response.completed`",
  },
  {
    cases: /^test_lora\.py/,
    says: 'neither',
    why: 'the text that it expects is that of a trained adapter, for which a random one stands in',
  },
  {
    cases: /^test_rerank\.py/,
    says: 'neither',
    why: 'the order and the counts of tokens are those of a trained model, for which a random one stands in',
  },
  {
    cases: /queue_client_disconnect/,
    says: 'neither',
    why: 'it needs the delays that a variable for debugging makes in llama-server',
  },
  {
    cases: /date_inside_prompt/,
    says: 'ours',
    why: 'the template sets `date_string` itself, as with Hugging Face; llama.cpp passes the current date',
  },
  {
    cases: /anthropic_empty_messages/,
    says: 'ours',
    why: "Anthropic's API refuses a request without messages",
  },
  { cases: /anthropic_thinking$/, says: 'ours', why: "Anthropic's API refuses budgets under 1024 tokens" },
  { cases: /kv_keep_only_active/, says: 'neither', why: 'it reads lines of their log' },
  {
    cases: /restore_legacy_token_list/,
    says: 'neither',
    why: 'it rewrites bytes of their file of states; ours has another format',
  },
  {
    cases: /read_only_endpoints/,
    says: 'ours',
    why: 'the metrics also have those of the process, which change while models sleep',
  },
];

/** The verdict on a failed case of a file. */
export function verdictOn(file: string, name: string): Omit<Verdict, 'cases'> | undefined {
  return VERDICTS.find(({ cases }) => cases.test(`${file} ${name}`));
}
