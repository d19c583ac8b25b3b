/**
 * Does work on each item, in order, on a certain number of them at once; resolves with the results in the items' order. Rejects with
 * the first error once what had begun has ended; nothing begins after it.
 */
export async function someAtOnce<T, R>(
  items: readonly T[],
  count: number,
  work: (item: T, index: number) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  let next = 0;
  let failed: { readonly error: unknown } | undefined;
  const lane = async () => {
    while (next < items.length && !failed) {
      const index = next++;
      try {
        results[index] = await work(items[index] as T, index);
      } catch (error) {
        failed ??= { error };
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(count, items.length) }, lane));
  if (failed) throw (failed as { readonly error: unknown }).error;
  return results;
}
