import { appendAt, attention as attend, type AttentionParameters, kvAppend } from '../../ops/attention.ts';
import type { GraphBuilder } from '../../ops/graph.ts';
import { hadamard, hadamardSize } from '../../ops/hadamard.ts';
import type { PagedCache } from '../../ops/paged-cache.ts';
import type { State, Tensor } from '../../ops/value.ts';

/** Values are rotated in smaller groups than keys, as in llama.cpp. */
const MAX_VALUE_SIZE = 64;

type Sizes = Pick<AttentionParameters, 'keySize' | 'valueSize'>;

/** True for types with so few bits that outliers would cost the other elements of their block most of them. */
function isRotated({ type }: State): boolean {
  return type === 'q4_0' || type === 'q5_1';
}

/**
 * By what groups keys and values are rotated before they are cached; undefined if they are not. Queries are rotated like
 * keys, so that scores stay the same, and attention's result is rotated back like the values that it is a sum of.
 */
function rotationsOf({ keys, values }: PagedCache, { keySize, valueSize }: Sizes) {
  // The values of a latent cache are the beginning of its keys.
  const ofKeys = isRotated(keys) ? hadamardSize(values ? [keySize] : [keySize, valueSize]) : undefined;
  if (!values) return { ofKeys, ofValues: ofKeys };
  return { ofKeys, ofValues: isRotated(values) ? hadamardSize([valueSize], MAX_VALUE_SIZE) : undefined };
}

function rotated(g: GraphBuilder, x: Tensor, size: number | undefined): Tensor {
  return size === undefined ? x : hadamard(g, x, size);
}

/** Appends keys, and values unless they are among the keys, to a cache, rotated if its type asks for that. */
export function appendRotated(
  g: GraphBuilder,
  cache: PagedCache,
  sizes: Sizes,
  { k, v }: { readonly k: Tensor; readonly v?: Tensor },
): void {
  const { ofKeys, ofValues } = rotationsOf(cache, sizes);
  kvAppend(g, cache, rotated(g, k, ofKeys), v && rotated(g, v, ofValues));
}

/** Appends keys, without values, at places of their own. */
export function appendRotatedAt(
  g: GraphBuilder,
  cache: PagedCache,
  sizes: Sizes,
  { k, places }: Parameters<typeof appendAt>[2],
): void {
  appendAt(g, cache, { k: rotated(g, k, rotationsOf(cache, sizes).ofKeys), places });
}

/** Attention over what `appendRotated` has cached. */
export function attendRotated(
  g: GraphBuilder,
  q: Tensor,
  cache: PagedCache,
  of: Parameters<typeof attend>[3],
): Tensor {
  const { ofKeys, ofValues } = rotationsOf(cache, of);
  return rotated(g, attend(g, rotated(g, q, ofKeys), cache, of), ofValues);
}
