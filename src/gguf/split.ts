import { fail, isRocmforgeError } from '../base/errors.ts';
import type { ByteSource, SourceResolver } from '../io/index.ts';
import { type GgufPart, readPart } from './gguf-part.ts';
import type { HeaderOptions } from './header-reader.ts';

/** The part number and part count before the suffix; a URL may continue with a query. */
const SPLIT_NAME = /-(\d{5})-of-(\d{5})(?=\.gguf(?:$|[?#]))/i;

/** The count is stored as 16 bits. */
const MAX_PARTS = 0xffff;

/** Options for reaching the other parts, besides those for headers. */
export interface SplitOptions extends HeaderOptions {
  /** Opens another part by name: the opened source's name with another part number. */
  readonly resolveSibling?: SourceResolver | undefined;
}

/** The parts of a model, at least one. */
export type Parts = [GgufPart, ...GgufPart[]];

/** `name` with the number of part `index` (from 0) of `count`, or undefined if it does not follow the pattern. */
export function splitPartName(name: string, index: number, count: number): string | undefined {
  return SPLIT_NAME.test(name) ? name.replace(SPLIT_NAME, splitSuffix(index, count)) : undefined;
}

/** The part of a file name that identifies part `index` (from 0) of `count`: `-00001-of-00003`. */
export function splitSuffix(index: number, count: number): string {
  const digits = (value: number) => `${value}`.padStart(5, '0');
  return `-${digits(index + 1)}-of-${digits(count)}`;
}

/** Number of parts of the model according to the file; 1 for a model in one file. */
export function splitCountOf(part: GgufPart): number {
  const count = part.metadata.number('split.count') ?? 1;
  if (Number.isInteger(count) && count >= 0 && count <= MAX_PARTS) return count;
  const source = part.source.name;
  const expected = `a whole number up to ${MAX_PARTS}`;
  return fail('GGUF_SPLIT_MISMATCH', { source, what: 'split.count', found: `${count}`, expected });
}

/**
 * All parts of the model that `opened` belongs to, in order. Any part may be opened first. On failure, the sources
 * opened here are disposed; the caller keeps `opened`'s.
 */
export async function readSiblings(opened: GgufPart, options: SplitOptions): Promise<Parts> {
  const count = splitCountOf(opened);
  const own = splitNumberOf(opened);
  const source = opened.source.name;
  if (!Number.isInteger(own) || own < 0 || own >= count) {
    fail('GGUF_SPLIT_MISMATCH', { source, what: 'split.no', found: `${own}`, expected: `0 to ${count - 1}` });
  }
  const siblings: GgufPart[] = [];
  try {
    const partAt = async (index: number): Promise<GgufPart> => {
      if (index === own) return opened;
      const sibling = await readSibling(opened, index, options);
      siblings.push(sibling);
      return sibling;
    };
    const parts: Parts = [await partAt(0)];
    for (let index = 1; index < count; index++) parts.push(await partAt(index));
    checkTogether(parts);
    return parts;
  } catch (error) {
    for (const sibling of siblings) await sibling.source.dispose();
    throw error;
  }
}

async function readSibling(opened: GgufPart, index: number, options: SplitOptions): Promise<GgufPart> {
  const sibling = await openSibling(opened, index, options);
  try {
    const part = await readPart(sibling, options);
    const source = sibling.name;
    const found = splitNumberOf(part);
    if (found !== index) {
      fail('GGUF_SPLIT_MISMATCH', { source, what: 'split.no', found: `${found}`, expected: `${index}` });
    }
    const [count, expected] = [splitCountOf(part), splitCountOf(opened)];
    if (count !== expected) {
      fail('GGUF_SPLIT_MISMATCH', {
        source,
        what: 'split.count',
        found: `${count}`,
        expected: `${expected}`,
      });
    }
    return part;
  } catch (error) {
    // If the resolver returns the opened source itself, it must not be closed: the caller owns it.
    if (sibling !== opened.source) await sibling.dispose();
    throw error;
  }
}

async function openSibling(opened: GgufPart, index: number, options: SplitOptions): Promise<ByteSource> {
  const source = opened.source.name;
  const count = splitCountOf(opened);
  const name = splitPartName(source, index, count);
  const missing = (reason: string, cause?: unknown): never => {
    const named = name ?? '(unknown)';
    return fail('GGUF_SPLIT_MISSING', { source, part: index + 1, count, name: named, reason }, cause);
  };
  if (!name) return missing('the opened file is not named …-00001-of-00002.gguf');
  if (!options.resolveSibling) return missing('no way to open siblings was given (resolveSibling)');
  try {
    return await options.resolveSibling(name);
  } catch (cause) {
    if (isRocmforgeError(cause, 'ABORTED')) throw cause;
    return missing(cause instanceof Error ? cause.message : String(cause), cause);
  }
}

function checkTogether(parts: Parts): void {
  const first = parts[0];
  const names = new Set<string>();
  for (const part of parts) {
    for (const { name } of part.tensors) {
      if (names.has(name)) fail('GGUF_DUPLICATE', { source: part.source.name, what: 'tensor', name });
      names.add(name);
    }
  }
  const expected = first.metadata.number('split.tensors.count');
  if (expected !== undefined && expected !== names.size) {
    const what = 'tensors of all parts against split.tensors.count';
    const source = first.source.name;
    fail('GGUF_SPLIT_MISMATCH', { source, what, found: `${names.size}`, expected: `${expected}` });
  }
}

function splitNumberOf(part: GgufPart): number {
  return part.metadata.number('split.no') ?? 0;
}
