import { z } from 'zod';
import { fail } from '../../base/errors.ts';
import { deleteEndpoint, getEndpoint, json, postEndpoint } from '../endpoint.ts';
import { listOf } from '../fields/list-of.ts';
import { freshId, nowSeconds } from '../fresh-id.ts';
import { pathValue } from '../paths.ts';
import { readQuery } from '../query.ts';
import type { RequestContext } from '../request-context.ts';
import { pageOf, pageQuery } from '../storage/pages.ts';
import { type ConversationRecord, withItems } from './conversation-record.ts';
import { inputItem, type ResponseItem, storedItems, withIncluded } from './response-items.ts';
import { includeField, metadataField } from './responses-schema.ts';

/** Maximum items that one request adds, as in OpenAI's API. */
const MAX_ADDED = 20;

const items = listOf(inputItem, { max: MAX_ADDED });

/** `POST /v1/conversations`. */
export const createConversationEndpoint = postEndpoint({
  path: '/v1/conversations',
  summary: 'Creates a conversation, to which responses can be added.',
  body: z.object({ items: items.nullish(), metadata: metadataField }),
  handle: async (request, call) => {
    const id = freshId('conv_');
    const { metadata } = request;
    const conversation = {
      id,
      object: 'conversation',
      created_at: nowSeconds(),
      metadata: metadata ?? {},
    } as const;
    const record = withItems({ conversation, items: [] }, storedItems(request.items ?? [], 'items'));
    await call.stored.put('conversation', id, record);
    return json(conversation);
  },
});

/** `GET /v1/conversations/{conversation_id}`. */
export const conversationEndpoint = getEndpoint({
  path: '/v1/conversations/{conversation_id}',
  summary: 'Returns a conversation without its items.',
  handle: async (call) => json((await recordOf(call)).conversation),
});

/** `POST /v1/conversations/{conversation_id}`. */
export const updateConversationEndpoint = postEndpoint({
  path: '/v1/conversations/{conversation_id}',
  summary: 'Replaces the metadata of a conversation.',
  body: z.object({ metadata: metadataField }),
  handle: async ({ metadata }, call) => {
    const { conversation } = await changed(call, (record) => ({
      ...record,
      conversation: { ...record.conversation, metadata: metadata ?? {} },
    }));
    return json(conversation);
  },
});

/** `DELETE /v1/conversations/{conversation_id}`. */
export const deleteConversationEndpoint = deleteEndpoint({
  path: '/v1/conversations/{conversation_id}',
  summary: 'Removes a conversation with its items; responses of it stay.',
  handle: async (call) => {
    const id = pathValue(call, 'conversation_id');
    await call.stored.remove('conversation', id);
    return json({ id, object: 'conversation.deleted', deleted: true });
  },
});

/** `POST /v1/conversations/{conversation_id}/items`. */
export const addItemsEndpoint = postEndpoint({
  path: '/v1/conversations/{conversation_id}/items',
  summary: 'Adds items to a conversation.',
  body: z.object({ items }),
  handle: async (request, call) => {
    const added = storedItems(request.items, 'items');
    await changed(call, (record) => withItems(record, added));
    return json(await pageOf(added, { limit: MAX_ADDED, order: 'asc' }, (item) => item));
  },
});

const itemsQuery = pageQuery('desc').extend({ include: includeField });

/** `GET /v1/conversations/{conversation_id}/items`. */
export const conversationItemsEndpoint = getEndpoint({
  path: '/v1/conversations/{conversation_id}/items',
  summary: 'Lists the items of a conversation.',
  query: itemsQuery,
  handle: async (call) => {
    const query = readQuery(call, itemsQuery);
    const record = await recordOf(call);
    return json(await pageOf(withIncluded(record.items, query.include), query, (item) => item));
  },
});

const itemQuery = z.object({ include: includeField });

/** `GET /v1/conversations/{conversation_id}/items/{item_id}`. */
export const conversationItemEndpoint = getEndpoint({
  path: '/v1/conversations/{conversation_id}/items/{item_id}',
  summary: 'Returns an item of a conversation.',
  query: itemQuery,
  handle: async (call) => {
    const { include } = readQuery(call, itemQuery);
    const item = itemIn(await recordOf(call), pathValue(call, 'item_id'));
    return json(withIncluded([item], include)[0]);
  },
});

/** `DELETE /v1/conversations/{conversation_id}/items/{item_id}`. */
export const deleteItemEndpoint = deleteEndpoint({
  path: '/v1/conversations/{conversation_id}/items/{item_id}',
  summary: 'Removes an item of a conversation, and returns the conversation.',
  handle: async (call) => {
    const { conversation } = await changed(call, (record) => {
      const { id: removed } = itemIn(record, pathValue(call, 'item_id'));
      return { ...record, items: record.items.filter(({ id }) => id !== removed) };
    });
    return json(conversation);
  },
});

function recordOf(call: RequestContext): Promise<ConversationRecord> {
  return call.stored.get<ConversationRecord>('conversation', pathValue(call, 'conversation_id'));
}

function changed(
  call: RequestContext,
  change: (record: ConversationRecord) => ConversationRecord,
): Promise<ConversationRecord> {
  return call.stored.update('conversation', pathValue(call, 'conversation_id'), change);
}

function itemIn({ items: all }: ConversationRecord, id: string): ResponseItem {
  return (
    all.find((item) => item.id === id) ??
    fail('STORED_NOT_FOUND', { what: 'an item of the conversation', id: id.slice(0, 80) })
  );
}
