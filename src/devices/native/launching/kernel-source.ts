import { codebookText } from '../lowering/codebook-text.ts';
import type { KernelTexts } from '../platform.ts';
import type { KernelModule } from './launch.ts';

/** A line of a text, and what it includes where it does: a file of our own, or a definition that may hold one. */
interface Line {
  readonly text: string;
  readonly name?: string | undefined;
  readonly macro?: string | undefined;
}

/** Lines of texts that were read: a model's kernels are made of the same few files. */
const read = new WeakMap<KernelTexts, Map<string, readonly Line[]>>();

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
    linesOf(name, texts).forEach((line, index) => {
      const included = includedFile(line, defines);
      if (included === undefined) lines.push(line.text);
      else lines.push(...expand(included), `#line ${index + 2} "${name}"`);
    });
    return lines;
  };
  return `${[...definitions, ...expand(file)].join('\n')}\n`;
}

const INCLUDE = /^\s*#\s*include\s+(?:"([^"]+)"|([A-Za-z_]\w*))\s*$/;

/** Throws `KERNEL_MISSING`. */
function linesOf(name: string, texts: KernelTexts): readonly Line[] {
  const files = read.get(texts) ?? new Map<string, readonly Line[]>();
  read.set(texts, files);
  const lines = files.get(name) ?? (codebookText(name) ?? texts.read(name)).split('\n').map(parseLine);
  files.set(name, lines);
  return lines;
}

function parseLine(text: string): Line {
  const [, name, macro] = INCLUDE.exec(text) ?? [];
  return { text: text.trim() === '#pragma once' ? '' : text, name, macro };
}

/** The file that a line includes, by its name or by a definition that holds it. */
function includedFile({ name, macro }: Line, defines: KernelModule['defines']): string | undefined {
  if (name !== undefined || macro === undefined) return name;
  const value = defines[macro];
  return isIncludeName(value) ? value.slice(1, -1) : undefined;
}

function isIncludeName(value: string | number | undefined): value is string {
  return typeof value === 'string' && /^".+"$/.test(value);
}
