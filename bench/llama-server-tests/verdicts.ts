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
    cases: /with_tools_enabled|_on_multimodal|_multimodal|mmproj|_with_image|vision/,
    says: 'not counted',
    why: 'images, audio, MCP, proxies and built-in tools',
  },
  {
    cases: /download_model|delete_model|remote_preset|reload_models|dedup_cache/,
    says: 'theirs',
    why: 'presets of models, and downloads at run time, are not offered',
  },
  { cases: /^test_stream\.py/, says: 'theirs', why: 'a stream cannot be taken up again after a disconnect' },
  { cases: /^test_compat_gcp\.py/, says: 'theirs', why: 'the form of Vertex AI is not offered' },
  {
    cases: /ctx_shift_enabled|with_ctx_shift/,
    says: 'theirs',
    why: 'a full context ends the text: nothing is forgotten while a text is generated',
  },
  {
    cases: /return_progress|prompt_progress|llama_telemetry/,
    says: 'theirs',
    why: 'progress of prompts is not reported',
  },
  {
    cases: /synth/,
    says: 'theirs',
    why: 'drafts cannot be accepted at made-up rates, which only tests need',
  },
  { cases: /multiple_addresses/, says: 'theirs', why: 'a server listens at one address' },
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
    cases: /assistant_prefill|messages7/,
    says: 'ours',
    why: "OpenAI's API begins a new turn behind the assistant's; `continue_final_message` continues it",
  },
  {
    cases: /test_chat_template(?: |$)|continue_final_message_vllm|verbose_debug/,
    says: 'theirs',
    why: '`__verbose` is not reported: `/apply-template` returns the prompt',
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
