import { invalid } from '../endpoint.ts';
import type { ResponseItem } from './response-items.ts';

/** Maximum items of a conversation, and its values and characters: those that a request may have, too. */
const MAX_ITEMS = 4096;
const MAX_VALUES = 2 ** 16;
const MAX_CHARACTERS = 2 ** 23;

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

/**
 * Counts items one after another. Throws `REQUEST_INVALID` once they are together more to read than a request may be.
 */
export function itemBounds(field: string): (item: unknown) => void {
  let values = 0;
  let characters = 0;
  const count = (value: unknown): void => {
    if (typeof value === 'string') characters += value.length;
    if (++values > MAX_VALUES || characters > MAX_CHARACTERS) {
      invalid(field, `it has more than ${MAX_VALUES} values, or ${MAX_CHARACTERS} characters`);
    }
    if (typeof value === 'object' && value !== null) for (const part of Object.values(value)) count(part);
  };
  return count;
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
  items.forEach(itemBounds('conversation'));
  return { ...record, items };
}
