/**
 * Variables that WGSL declares within loops without a value. They would be zero in every round, but Tint (Dawn, Chromium) makes
 * SPIR-V in which they are zero in the first one only, and so did Naga (wgpu, Deno, Firefox) until May 2026: our kernels give a
 * value to every variable of a loop.
 */
export function unsetInLoops(code: string): readonly string[] {
  const found: string[] = [];
  const blocks: ('loop' | 'other')[] = [];
  let parentheses = 0;
  let statement = '';
  for (const char of code.replace(/\/\/.*/g, '')) {
    if (char === '(') parentheses++;
    if (char === ')') parentheses--;
    if (parentheses > 0 || !'{};'.includes(char)) {
      statement += char;
      continue;
    }
    if (char === '{') blocks.push(/^\s*(?:for|while|loop)\b/.test(statement) ? 'loop' : 'other');
    if (char === '}') blocks.pop();
    if (char === ';' && blocks.includes('loop')) {
      const name = /^\s*var (\w+):[^=]*$/.exec(statement)?.[1];
      if (name !== undefined) found.push(name);
    }
    statement = '';
  }
  return found;
}
