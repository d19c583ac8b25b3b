import { generatedText } from '../texts/generated-text.ts';
import type { KernelTexts } from '../platform.ts';
import type { KernelModule } from './launch.ts';

/** Lines of a source, or an include: of one of our files, or of a definition that may name one. */
interface Piece {
  readonly text: string;
  readonly name?: string | undefined;
  readonly macro?: string | undefined;
  /** The number of the line after it. */
  readonly next: number;
}

/** The parsed pieces of sources: a model's kernels consist of the same few files. */
const read = new WeakMap<KernelTexts, Map<string, readonly Piece[]>>();

/**
 * A module's complete source: its definitions, then the file with every `#include` of our own files replaced by their
 * contents, once each. So the compilers need no header search, and a cache's key covers everything that is compiled.
 * Throws `KERNEL_MISSING`.
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
    for (const piece of piecesOf(name, texts)) {
      const included = includedFile(piece, defines);
      if (included === undefined) lines.push(piece.text);
      else lines.push(...expand(included), `#line ${piece.next} "${name}"`);
    }
    return lines;
  };
  return `${[...definitions, ...expand(file)].join('\n')}\n`;
}

const INCLUDE = /^\s*#\s*include\s+(?:"([^"]+)"|([A-Za-z_]\w*))\s*$/;

/** Throws `KERNEL_MISSING`. */
function piecesOf(name: string, texts: KernelTexts): readonly Piece[] {
  const files = read.get(texts) ?? new Map<string, readonly Piece[]>();
  read.set(texts, files);
  const pieces = files.get(name) ?? parse(generatedText(name) ?? texts.read(name));
  files.set(name, pieces);
  return pieces;
}

function parse(file: string): Piece[] {
  const pieces: Piece[] = [];
  let plain: string[] = [];
  const end = (next: number) => {
    if (plain.length > 0) pieces.push({ text: plain.join('\n'), next });
    plain = [];
  };
  const lines = file.split('\n');
  lines.forEach((text, index) => {
    const [found, name, macro] = INCLUDE.exec(text) ?? [];
    if (found === undefined) {
      plain.push(text.trim() === '#pragma once' ? '' : text);
      return;
    }
    end(index + 1);
    pieces.push({ text, name, macro, next: index + 2 });
  });
  end(lines.length + 1);
  return pieces;
}

/** The file that a line includes, by its name or through a definition. */
function includedFile({ name, macro }: Piece, defines: KernelModule['defines']): string | undefined {
  if (name !== undefined || macro === undefined) return name;
  const value = defines[macro];
  return isIncludeName(value) ? value.slice(1, -1) : undefined;
}

function isIncludeName(value: string | number | undefined): value is string {
  return typeof value === 'string' && /^".+"$/.test(value);
}
