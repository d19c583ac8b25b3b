/** The length of two texts' common prefix in bytes. */
export function sharedLength(a: Uint8Array, b: Uint8Array): number {
  const most = Math.min(a.length, b.length);
  let length = 0;
  while (length < most && a[length] === b[length]) length++;
  return length;
}

/** The order of texts by their bytes, a prefix first: negative, 0 or positive as `a` comes before, is, or comes after `b`. */
export function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const shared = sharedLength(a, b);
  return (a[shared] ?? -1) - (b[shared] ?? -1);
}
