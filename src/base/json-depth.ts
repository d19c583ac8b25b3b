const [QUOTE, BACKSLASH, OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE] = Array.from('"\\[]{}', (of) =>
  of.charCodeAt(0),
);

/**
 * True where valid JSON text is nested more than `maxDepth` levels deep. Whatever walks through values calls itself level by level,
 * so that deeper ones exhaust the stack.
 */
export function isDeeper(json: string, maxDepth: number): boolean {
  let depth = 0;
  let inString = false;
  for (let at = 0; at < json.length; at++) {
    const code = json.charCodeAt(at);
    if (code === BACKSLASH) at++;
    else if (code === QUOTE) inString = !inString;
    else if (inString) continue;
    else if (code === OPEN_BRACKET || code === OPEN_BRACE) depth++;
    else if (code === CLOSE_BRACKET || code === CLOSE_BRACE) depth--;
    if (depth > maxDepth) return true;
  }
  return false;
}
