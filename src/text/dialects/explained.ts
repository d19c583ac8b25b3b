import type { ChatMessage, ChatTool } from '../chat-message.ts';

/** The conversation with the tools described in words, for templates that know none. The calls are of the Hermes form. */
export function withToolsExplained(
  messages: readonly ChatMessage[],
  tools: readonly ChatTool[],
): ChatMessage[] {
  const explained = [
    'You may call functions to answer. They are:',
    ...tools.map((tool) => JSON.stringify(tool.function)),
    'A call is written like this, one after the other where there are several:',
    '<tool_call>\n{"name": "NAME", "arguments": {"PARAMETER": VALUE}}\n</tool_call>',
  ].join('\n');
  const [first, ...rest] = messages;
  if (first?.role === 'system' && typeof first.content === 'string') {
    return [{ ...first, content: `${first.content}\n\n${explained}` }, ...rest];
  }
  return [{ role: 'system', content: explained }, ...messages];
}
