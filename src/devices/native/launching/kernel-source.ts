import { codebookText } from '../lowering/codebook-text.ts';
import type { KernelTexts } from '../platform.ts';
import type { KernelModule } from './launch.ts';

/**
 * A module's whole text: its definitions, then the file with every `#include` of our own replaced by the included text, once
 * each. So the compilers need no header search, and a cache's key covers all that is compiled. Throws `KERNEL_MISSING`.
 */
export function kernelSource({ file, defines }: KernelModule, texts: KernelTexts): string {
  const definitions = Object.entries(defines)
    .filter(([, value]) => !isIncludeName(value))
    .map(([name, value]) => `#define ${name} ${value}`);
  const seen = new Set<string>();
  const expand = (name: string): string[] => {
    if (seen.has(name)) return [];
    seen.add(name);
    const lines: string[] = [`#line 1 "${name}"`];
    (codebookText(name) ?? texts.read(name)).split('\n').forEach((line, index) => {
      const included = includedFile(line, defines);
      if (included !== undefined) lines.push(...expand(included), `#line ${index + 2} "${name}"`);
      else if (line.trim() !== '#pragma once') lines.push(line);
      else lines.push('');
    });
    return lines;
  };
  return `${[...definitions, ...expand(file)].join('\n')}\n`;
}

const INCLUDE = /^\s*#\s*include\s+(?:"([^"]+)"|([A-Za-z_]\w*))\s*$/;

/** The file that a line includes, by its name or by a definition that holds it. */
function includedFile(line: string, defines: KernelModule['defines']): string | undefined {
  const match = INCLUDE.exec(line);
  if (!match) return undefined;
  const [, name, macro = ''] = match;
  if (name !== undefined) return name;
  const value = defines[macro];
  return isIncludeName(value) ? value.slice(1, -1) : undefined;
}

function isIncludeName(value: string | number | undefined): value is string {
  return typeof value === 'string' && /^".+"$/.test(value);
}
