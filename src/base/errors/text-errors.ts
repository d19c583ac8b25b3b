import { entry } from './entry.ts';

/** Failures of tokenizers and chat templates. */
export const textErrors = {
  TOKENIZER_MISSING: entry<{ found: string }>(
    422,
    'The model file carries no tokenizer.',
    'Use a file that was converted with its vocabulary, or token ids: `generateTokens`, `evaluate` and `embed` take them.',
    (p) => `tokenizer.ggml.model: found ${p.found}, expected the name of a tokenizer`,
  ),
  TOKENIZER_UNKNOWN: entry<{ found: string; known: string }>(
    422,
    'The model file names a tokenizer that rocmforge does not implement.',
    'Use a model with one of the known tokenizers, or token ids: `generateTokens`, `evaluate` and `embed` take them.',
    (p) => `tokenizer.ggml.model: found "${p.found}", expected one of: ${p.known}`,
  ),
  TEXT_NOT_JSON: entry<{ reason: string; end: string }>(
    422,
    'A text was to be read as JSON and is none.',
    'Hold it to a schema (`schema`) or to JSON (`json: true`), and allow enough tokens for all of it.',
    (p) => `the text that ended by "${p.reason}" is no JSON; its end: ${JSON.stringify(p.end)}`,
  ),
  TEXT_UNAVAILABLE: entry<{ reason: string }>(
    422,
    'The tokens of the model cannot be written as text, because its file has no usable tokenizer.',
    'Call `generateTokens`, which takes and gives token ids, or use a file that was converted with its vocabulary.',
    (p) => `the ids that are generated cannot be written as text: ${p.reason}`,
  ),
  PRETOKENIZER_UNKNOWN: entry<{ found: string; known: string }>(
    422,
    'The model file names a pre-tokenizer that rocmforge does not know.',
    'Update rocmforge, or correct the key tokenizer.ggml.pre when the model uses the rules of a known one.',
    (p) => `tokenizer.ggml.pre: found "${p.found}", expected one of: ${p.known}`,
  ),
  TOKENIZER_INVALID: entry<{ key: string; found: string; expected: string }>(
    422,
    "The tokenizer's metadata is missing or contradicts itself.",
    'Convert the model again with a current converter.',
    (p) => `${p.key}: found ${p.found}, expected ${p.expected}`,
  ),
  TOKEN_OUT_OF_RANGE: entry<{ id: number; size: number }>(
    400,
    'A token id lies outside the vocabulary.',
    'Pass ids of the same model whose tokenizer is used.',
    (p) => `token id: found ${p.id}, expected an integer from 0 to ${p.size - 1}`,
  ),
  GRAMMAR_INVALID: entry<{ reason: string }>(
    400,
    'The JSON schema or the tools cannot be made into a grammar.',
    'Correct the schema, or leave out the keywords that are not supported.',
    (p) => `the schema cannot be held to: ${p.reason}`,
  ),
  SCHEMA_UNSUPPORTED: entry<{ keyword: string; pointer: string; reason: string }>(
    400,
    'A JSON schema uses a keyword in a way that no text can be held to.',
    'Rewrite or leave out the part of the schema at that place; docs/grammar.md says which keywords are honoured.',
    (p) => `the schema cannot be held to: ${p.keyword} at "${p.pointer}": ${p.reason}`,
  ),
  CHAT_TEMPLATE_MISSING: entry<{ wanted: string; known: string }>(
    422,
    'The model has no chat template of that name.',
    'Use a chat-tuned model, pass a template of your own (--chat-template, chatTemplate), or use the model with plain prompts.',
    (p) => `chat template ${p.wanted}: found none in the model's metadata (it has: ${p.known})`,
  ),
  CHAT_TEMPLATE_INVALID: entry<{ reason: string }>(
    422,
    'The chat template is not a Jinja template of a conversation.',
    'Pass a corrected template in its place (--chat-template-file, chatTemplate), or convert the model again.',
    (p) => `chat template: found no Jinja (${p.reason})`,
  ),
  CHAT_TEMPLATE_REJECTED: entry<{ reason: string }>(
    400,
    'The chat template refused the conversation by raise_exception.',
    'Change the messages as the template asks: roles, their order, or the tools.',
    (p) => `chat template: it refused the conversation: ${p.reason}`,
  ),
  REASONING_UNSUPPORTED: entry<{ what: string }>(
    400,
    "The model's chat template knows nothing of what was asked of its reasoning.",
    'Leave the reasoning options out; where it always thinks, a budget of 0 tokens ends that at once.',
    (p) => `chat template: found no ${p.what}, which the reasoning options ask for`,
  ),
  CHAT_TEMPLATE_FAILED: entry<{ reason: string }>(
    422,
    'The chat template could not be rendered with this conversation.',
    'Check that every message has the fields that the template reads; otherwise pass a corrected template (--chat-template-file, chatTemplate).',
    (p) => `chat template: it failed while rendering: ${p.reason}`,
  ),
} as const;
