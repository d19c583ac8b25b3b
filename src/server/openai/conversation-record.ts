import { invalid } from '../endpoint.ts';
import type { ResponseItem } from './response-items.ts';

/** Maximum items of a conversation. */
const MAX_ITEMS = 4096;

/** A stored conversation. */
export interface ConversationRecord {
  readonly conversation: {
    readonly id: string;
    readonly object: 'conversation';
    /** Seconds since 1970. */
    readonly created_at: number;
    readonly metadata: object;
  };
  readonly items: readonly ResponseItem[];
}

/** The conversation with more items. Throws `REQUEST_INVALID` if it has too many, or one of them already. */
export function withItems(record: ConversationRecord, added: readonly ResponseItem[]): ConversationRecord {
  const items = [...record.items, ...added];
  if (items.length > MAX_ITEMS) invalid('conversation', `it would have more than ${MAX_ITEMS} items`);
  const ids = new Set<string>();
  for (const { id } of items) {
    if (ids.has(id)) invalid('items', `the conversation has an item ${id} already`);
    ids.add(id);
  }
  return { ...record, items };
}
