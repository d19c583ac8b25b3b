import { entry } from './entry.ts';

/** Failures of tokenizers and chat templates. */
export const textErrors = {
  TOKENIZER_MISSING: entry<{ found: string }>(
    422,
    'The model file has no tokenizer.',
    'Use a file that was converted with its vocabulary, or work with token ids (`generateTokens`, `evaluate`, `embed`).',
    (p) => `tokenizer.ggml.model: found ${p.found}, expected the name of a tokenizer`,
  ),
  TOKENIZER_UNKNOWN: entry<{ found: string; known: string }>(
    422,
    'The model file names a tokenizer that rocmforge does not implement.',
    'Use a model with one of the known tokenizers, or work with token ids (`generateTokens`, `evaluate`, `embed`).',
    (p) => `tokenizer.ggml.model: found "${p.found}", expected one of: ${p.known}`,
  ),
  TEXT_NOT_JSON: entry<{ reason: string; end: string }>(
    422,
    'A text was expected to be JSON, but is not.',
    'Constrain it to a schema (`schema`) or to JSON (`json: true`), and allow enough tokens for all of it.',
    (p) => `the text, which ended with "${p.reason}", is not JSON; its end: ${JSON.stringify(p.end)}`,
  ),
  VALUE_INVALID: entry<{ problems: string }>(
    422,
    'A value has the form of its schema, but the schema’s own checks refuse it.',
    'Ask again, or express the check in a way that JSON Schema has (`minLength`, `enum`, `pattern`), so that it is enforced.',
    (p) => `the schema refuses the value: ${p.problems}`,
  ),
  TOOL_FAILED: entry<{ tool: string; reason: string }>(
    500,
    'The function of a tool threw an error.',
    'Look at the cause. Return what the model should know of a failure, instead of throwing.',
    (p) => `the tool ${p.tool} failed: ${p.reason}`,
  ),
  TOOL_STEPS: entry<{ steps: number }>(
    422,
    'A model called tools again and again, and did not answer.',
    'Allow more steps (`maxSteps`), or tell the model when to stop.',
    (p) => `after ${p.steps} answers with calls there is still none without`,
  ),
  SESSION_BUSY: entry<Record<string, never>>(
    409,
    'A chat session was asked, changed or cleared while it was answering.',
    'Read the answer to its end first, or `fork` the session.',
    () => 'the session is still answering',
  ),
  INFILL_UNSUPPORTED: entry<Record<string, never>>(
    400,
    'The model cannot fill in the middle of a text: it has no tokens for it.',
    'Use a model that was trained for it, such as Qwen2.5-Coder, or let the model continue the prefix (`generate`).',
    () => 'the model has no tokens for filling in the middle',
  ),
  MEDIA_UNSUPPORTED: entry<{ where: string; type: string }>(
    400,
    'A message contains an image, sound or a file.',
    'Leave it out, or put its text into the message: rocmforge reads text only.',
    (p) => `${p.where}: a part of type ${p.type}, but models read text only here, no images, sound or files`,
  ),
  TEXT_UNAVAILABLE: entry<{ reason: string }>(
    422,
    'The model’s tokens cannot be decoded to text, because its file has no usable tokenizer.',
    'Call `generateTokens`, which works with token ids, or use a file that was converted with its vocabulary.',
    (p) => `generated token ids cannot be decoded to text: ${p.reason}`,
  ),
  PRETOKENIZER_UNKNOWN: entry<{ found: string; known: string }>(
    422,
    'The model file names an unknown pre-tokenizer.',
    'Update rocmforge, or correct the key tokenizer.ggml.pre if the model uses the rules of a known one.',
    (p) => `tokenizer.ggml.pre: found "${p.found}", expected one of: ${p.known}`,
  ),
  TOKENIZER_INVALID: entry<{ key: string; found: string; expected: string }>(
    422,
    "The tokenizer's metadata is missing or inconsistent.",
    'Convert the model again with a current converter.',
    (p) => `${p.key}: found ${p.found}, expected ${p.expected}`,
  ),
  TOKEN_OUT_OF_RANGE: entry<{ id: number; size: number }>(
    400,
    'A token id is outside the vocabulary.',
    'Pass ids from the tokenizer of the same model.',
    (p) => `token id: found ${p.id}, expected an integer from 0 to ${p.size - 1}`,
  ),
  GRAMMAR_INVALID: entry<{ reason: string }>(
    400,
    'The JSON schema, grammar or tools are invalid.',
    'Correct the schema, or leave out the keywords that are not supported.',
    (p) => `the schema or grammar is invalid: ${p.reason}`,
  ),
  SCHEMA_UNSUPPORTED: entry<{ keyword: string; pointer: string; reason: string }>(
    400,
    'A JSON schema uses a keyword in a way that cannot be enforced.',
    'Rewrite or leave out that part of the schema; docs/grammar.md lists the supported keywords.',
    (p) => `the schema cannot be enforced: ${p.keyword} at "${p.pointer}": ${p.reason}`,
  ),
  CHAT_TEMPLATE_MISSING: entry<{ wanted: string; known: string }>(
    422,
    'The model has no chat template of that name.',
    'Use a chat-tuned model, pass your own template (--chat-template, chatTemplate), or use the model with plain prompts.',
    (p) => `chat template ${p.wanted}: found none in the model's metadata (it has: ${p.known})`,
  ),
  CHAT_TEMPLATE_INVALID: entry<{ reason: string }>(
    422,
    'The chat template is not a valid Jinja template.',
    'Pass a corrected template (--chat-template-file, chatTemplate), or convert the model again.',
    (p) => `chat template: invalid Jinja (${p.reason})`,
  ),
  CHAT_TEMPLATE_REJECTED: entry<{ reason: string }>(
    400,
    'The chat template refused the conversation (raise_exception).',
    'Change the messages as the template demands: roles, their order, or the tools.',
    (p) => `chat template: it refused the conversation: ${p.reason}`,
  ),
  REASONING_UNSUPPORTED: entry<{ what: string }>(
    400,
    "The model's chat template does not support the requested reasoning options.",
    'Leave out the reasoning options; if the model always reasons, a budget of 0 tokens ends that immediately.',
    (p) => `chat template: found no ${p.what}, which the reasoning options ask for`,
  ),
  CHAT_TEMPLATE_FAILED: entry<{ reason: string }>(
    422,
    'The chat template could not be rendered with this conversation.',
    'Check that every message has the fields that the template reads; otherwise pass a corrected template (--chat-template-file, chatTemplate).',
    (p) => `chat template: it failed while rendering: ${p.reason}`,
  ),
} as const;
