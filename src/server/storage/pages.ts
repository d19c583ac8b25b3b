import { z } from 'zod';
import { fail } from '../../base/errors.ts';

/** The query of a list, in OpenAI's API; a list may have another order by default. */
export function pageQuery(order: 'asc' | 'desc', most = 100) {
  return z.object({
    after: z.string().optional().describe('The id before the first of the page.'),
    limit: z.coerce.number().int().min(1).max(most).default(Math.min(most, 20)),
    order: z.enum(['asc', 'desc']).default(order).describe('By the time of creation.'),
  });
}

/** A query of a list. */
export type PageQuery = z.output<ReturnType<typeof pageQuery>>;

/** A page of a list, in OpenAI's API. */
export interface Page<T> {
  readonly object: 'list';
  readonly data: readonly T[];
  readonly first_id: string | null;
  readonly last_id: string | null;
  readonly has_more: boolean;
}

/**
 * A page of things in order of creation. `read` resolves to undefined for what does not belong to the list. Rejects with
 * `REQUEST_INVALID` if `after` is not in the list.
 */
export async function pageOf<T extends { readonly id: string }, Entry extends { readonly id: string }>(
  entries: readonly Entry[],
  { after, limit, order }: PageQuery,
  read: (entry: Entry) => Promise<T | undefined> | T | undefined,
): Promise<Page<T>> {
  const ordered = order === 'asc' ? entries : entries.toReversed();
  const before = after === undefined ? -1 : ordered.findIndex(({ id }) => id === after);
  if (after !== undefined && before < 0) {
    fail('REQUEST_INVALID', { field: 'after', problem: 'it is not the id of something in the list' });
  }
  const data: T[] = [];
  let hasMore = false;
  for (const entry of ordered.slice(before + 1)) {
    const one = await read(entry);
    if (one === undefined) continue;
    hasMore = data.length === limit;
    if (hasMore) break;
    data.push(one);
  }
  const [first, last] = [data[0], data.at(-1)];
  return {
    object: 'list',
    data,
    first_id: first?.id ?? null,
    last_id: last?.id ?? null,
    has_more: hasMore,
  };
}
