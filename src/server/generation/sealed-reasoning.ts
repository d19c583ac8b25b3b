/** Before what this server wrote itself; a changed form gets another number. */
const PREFIX = 'rocmforge-1.';

/**
 * Reasoning as a text that clients only carry: `encrypted_content` of OpenAI's API and `signature` of Anthropic's. It is
 * UTF-8 in base64 and no secret, since the reasoning is sent openly, too; so any server can read it at any time.
 */
export function sealReasoning(reasoning: string): string {
  let binary = '';
  // Not all at once: arguments of a call are limited.
  for (const byte of new TextEncoder().encode(reasoning)) binary += String.fromCharCode(byte);
  return PREFIX + btoa(binary);
}

/**
 * The reasoning of such a text; undefined if it was made by another server, or has been changed so that it is no text any
 * more.
 */
export function unsealReasoning(sealed: string): string | undefined {
  if (!sealed.startsWith(PREFIX)) return undefined;
  try {
    const binary = atob(sealed.slice(PREFIX.length));
    const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0));
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
