const LETTERS = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789';

/** A fresh id of a call whose dialect writes none. `length` asks for so many letters and digits, which some templates insist on. */
export function freshCallId(length?: number): string {
  const bytes = crypto.getRandomValues(new Uint8Array(length ?? 24));
  const letters = Array.from(bytes, (byte) => LETTERS[byte % LETTERS.length]).join('');
  return length === undefined ? `call_${letters}` : letters;
}
