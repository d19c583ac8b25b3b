const LETTERS = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789';

/**
 * A new id for a call when the dialect writes none. `length` requests this many letters and digits, which some
 * templates require.
 */
export function newCallId(length?: number): string {
  const bytes = crypto.getRandomValues(new Uint8Array(length ?? 24));
  const letters = Array.from(bytes, (byte) => LETTERS[byte % LETTERS.length]).join('');
  return length === undefined ? `call_${letters}` : letters;
}
