import { z } from 'zod';
import type { RequestContext } from '../request-context.ts';
import { deleteEndpoint, getEndpoint, json, postEndpoint } from '../endpoint.ts';
import { pathValue } from '../paths.ts';
import { readQuery } from '../query.ts';
import { pageOf, pageQuery } from '../storage/pages.ts';
import type { ChatBody } from './chat-body.ts';
import { metadataField } from './responses-schema.ts';

/** A stored answer to a conversation. */
interface ChatRecord {
  readonly completion: {
    readonly id: string;
    readonly model: string;
    readonly metadata: Readonly<Record<string, unknown>>;
  };
  readonly messages: readonly { readonly id: string }[];
}

/** Stores an answer with its conversation, and resolves to the answer with its metadata. Rejects with `STORE_FULL`. */
export async function keepChat<T extends { readonly id: string; readonly model: string }>(
  { stored }: RequestContext,
  { messages, metadata }: ChatBody,
  answer: T,
): Promise<T & ChatRecord['completion']> {
  const completion = { ...answer, metadata: metadata ?? {} };
  const named = messages.map((message, index) => ({ ...message, id: `${answer.id}-${index}` }));
  const record: ChatRecord = { completion, messages: named };
  await stored.put('chat', answer.id, record);
  return completion;
}

const listQuery = pageQuery('asc').extend({
  model: z.string().optional(),
  metadata: z.record(z.string(), z.string()).optional().describe('Values that its metadata must have.'),
});

/** `GET /v1/chat/completions`. */
export const chatsEndpoint = getEndpoint({
  path: '/v1/chat/completions',
  summary: 'Lists the stored answers to conversations.',
  query: listQuery,
  handle: async (call) => {
    const query = readQuery(call, listQuery);
    const wanted = Object.entries(query.metadata ?? {});
    const page = await pageOf(await call.stored.list('chat'), query, async ({ id }) => {
      const completion = (await call.stored.find<ChatRecord>('chat', id))?.completion;
      if (!completion || (query.model !== undefined && query.model !== completion.model)) return undefined;
      return wanted.every(([key, value]) => completion.metadata[key] === value) ? completion : undefined;
    });
    return json(page);
  },
});

/** `GET /v1/chat/completions/{completion_id}`. */
export const storedChatEndpoint = getEndpoint({
  path: '/v1/chat/completions/{completion_id}',
  summary: 'Returns a stored answer to a conversation.',
  handle: async (call) => json((await recordOf(call)).completion),
});

/** `POST /v1/chat/completions/{completion_id}`. */
export const updateChatEndpoint = postEndpoint({
  path: '/v1/chat/completions/{completion_id}',
  summary: 'Replaces the metadata of a stored answer.',
  body: z.object({ metadata: metadataField }),
  handle: async ({ metadata }, call) => {
    const id = pathValue(call, 'completion_id');
    const { completion } = await call.stored.update<ChatRecord>('chat', id, (record) => ({
      ...record,
      completion: { ...record.completion, metadata: metadata ?? {} },
    }));
    return json(completion);
  },
});

/** `DELETE /v1/chat/completions/{completion_id}`. */
export const deleteChatEndpoint = deleteEndpoint({
  path: '/v1/chat/completions/{completion_id}',
  summary: 'Removes a stored answer with its conversation.',
  handle: async (call) => {
    const id = pathValue(call, 'completion_id');
    await call.stored.remove('chat', id);
    return json({ id, object: 'chat.completion.deleted', deleted: true });
  },
});

const messagesQuery = pageQuery('asc');

/** `GET /v1/chat/completions/{completion_id}/messages`. */
export const chatMessagesEndpoint = getEndpoint({
  path: '/v1/chat/completions/{completion_id}/messages',
  summary: 'Lists the messages that a stored answer was given to.',
  query: messagesQuery,
  handle: async (call) => {
    const { messages } = await recordOf(call);
    return json(await pageOf(messages, readQuery(call, messagesQuery), (message) => message));
  },
});

function recordOf(call: RequestContext): Promise<ChatRecord> {
  return call.stored.get<ChatRecord>('chat', pathValue(call, 'completion_id'));
}
