import { fail } from '../../base/errors.ts';
import type { SyntheticShape } from '../synthetic-family.ts';

/** The shapes that are known by name: those of published models, and a tiny one for tests. */
export const SYNTHETIC_SHAPES = {
  tiny: {
    architecture: 'llama',
    layers: 2,
    width: 32,
    heads: 4,
    kvHeads: 2,
    hidden: 48,
    vocabulary: 64,
    context: 64,
    ropeBase: 10_000,
  },
  'llama-tiny': {
    architecture: 'llama',
    layers: 2,
    width: 256,
    heads: 4,
    kvHeads: 2,
    hidden: 512,
    vocabulary: 512,
    context: 512,
    ropeBase: 10_000,
  },
  'llama-1b': {
    architecture: 'llama',
    layers: 22,
    width: 2048,
    heads: 32,
    kvHeads: 4,
    hidden: 5632,
    vocabulary: 32_000,
    context: 2048,
    ropeBase: 10_000,
  },
  'llama-2-7b': {
    architecture: 'llama',
    layers: 32,
    width: 4096,
    heads: 32,
    kvHeads: 32,
    hidden: 11_008,
    vocabulary: 32_000,
    context: 4096,
    ropeBase: 10_000,
  },
  'llama-2-13b': {
    architecture: 'llama',
    layers: 40,
    width: 5120,
    heads: 40,
    kvHeads: 40,
    hidden: 13_824,
    vocabulary: 32_000,
    context: 4096,
    ropeBase: 10_000,
  },
  'llama-2-70b': {
    architecture: 'llama',
    layers: 80,
    width: 8192,
    heads: 64,
    kvHeads: 8,
    hidden: 28_672,
    vocabulary: 32_000,
    context: 4096,
    ropeBase: 10_000,
  },
  'llama-3-8b': {
    architecture: 'llama',
    layers: 32,
    width: 4096,
    heads: 32,
    kvHeads: 8,
    hidden: 14_336,
    vocabulary: 128_256,
    context: 8192,
    ropeBase: 500_000,
  },
  'qwen3-8b': {
    architecture: 'qwen3',
    layers: 36,
    width: 4096,
    heads: 32,
    kvHeads: 8,
    hidden: 12_288,
    vocabulary: 151_936,
    context: 40_960,
    ropeBase: 1_000_000,
  },
  'mixtral-8x7b': {
    architecture: 'llama',
    layers: 32,
    width: 4096,
    heads: 32,
    kvHeads: 8,
    hidden: 14_336,
    vocabulary: 32_000,
    context: 32_768,
    ropeBase: 1_000_000,
    experts: 8,
    chosenExperts: 2,
    expertHidden: 14_336,
  },
  'qwen3-30b-a3b': {
    architecture: 'qwen3moe',
    layers: 48,
    width: 2048,
    heads: 32,
    kvHeads: 4,
    hidden: 6144,
    vocabulary: 151_936,
    context: 40_960,
    ropeBase: 1_000_000,
    experts: 128,
    chosenExperts: 8,
    expertHidden: 768,
  },
  'gpt-oss-20b': {
    architecture: 'gpt-oss',
    layers: 24,
    width: 2880,
    heads: 64,
    headSize: 64,
    kvHeads: 8,
    hidden: 2880,
    vocabulary: 201_088,
    context: 131_072,
    ropeBase: 150_000,
    experts: 32,
    chosenExperts: 4,
    expertHidden: 2880,
  },
  'qwen3.6-35b-a3b': {
    architecture: 'qwen35moe',
    layers: 40,
    width: 2048,
    heads: 16,
    headSize: 256,
    kvHeads: 2,
    hidden: 512,
    vocabulary: 248_320,
    context: 262_144,
    ropeBase: 10_000_000,
    experts: 256,
    chosenExperts: 8,
    expertHidden: 512,
  },
  'deepseek-v2-lite': {
    architecture: 'deepseek2',
    layers: 27,
    width: 2048,
    heads: 16,
    kvHeads: 16,
    hidden: 10_944,
    vocabulary: 102_400,
    context: 163_840,
    ropeBase: 10_000,
    experts: 64,
    chosenExperts: 6,
    expertHidden: 1408,
  },
  'gemma-4-26b-a4b': {
    architecture: 'gemma4',
    layers: 30,
    width: 2816,
    heads: 16,
    headSize: 256,
    kvHeads: 8,
    hidden: 2112,
    vocabulary: 262_144,
    context: 262_144,
    ropeBase: 1_000_000,
    experts: 128,
    chosenExperts: 8,
    expertHidden: 704,
  },
  'rwkv7-2.9b': {
    architecture: 'rwkv7',
    layers: 32,
    width: 2560,
    heads: 40,
    kvHeads: 40,
    hidden: 10_240,
    vocabulary: 65_536,
    context: 1_048_576,
    ropeBase: 10_000,
  },
} as const satisfies Readonly<Record<string, SyntheticShape>>;

/** A shape by name with some sizes replaced. Throws `INVALID_ARGUMENT` for an unknown name or inconsistent sizes. */
export function syntheticShape(name: string, changes: Partial<SyntheticShape> = {}): SyntheticShape {
  const known: Readonly<Record<string, SyntheticShape>> = SYNTHETIC_SHAPES;
  const shape = Object.hasOwn(known, name) ? known[name] : undefined;
  if (!shape) {
    const expected = `one of ${Object.keys(known).join(', ')}`;
    fail('INVALID_ARGUMENT', { name: 'shape', found: name, expected });
  }
  const changed = { ...shape, ...changes };
  const { architecture: _, ...sizes } = changed;
  for (const [size, value] of Object.entries(sizes)) requirePositive(size, value);
  if (changed.headSize === undefined) requireMultiple('width', changed.width, 2 * changed.heads);
  else requireMultiple('head size', changed.headSize, 2);
  requireMultiple('heads', changed.heads, changed.kvHeads);
  return changed;
}

function requirePositive(name: string, value: number): void {
  if (Number.isSafeInteger(value) && value > 0) return;
  fail('INVALID_ARGUMENT', { name, found: `${value}`, expected: 'a positive whole number' });
}

function requireMultiple(name: string, value: number, of: number): void {
  if (value % of === 0) return;
  fail('INVALID_ARGUMENT', { name, found: `${value}`, expected: `a multiple of ${of}` });
}
