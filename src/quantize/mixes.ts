import type { MixRules } from './mix-rules.ts';
import * as rules from './mix-rules.ts';

/** A recipe for a file: the format of most matrices, and rules for those that need more bits, or can do with fewer. */
export interface Mix extends MixRules {
  /** llama.cpp's name: `Q4_K_M`. */
  readonly name: string;
  /** The number in `general.file_type`. */
  readonly fileType: number;
  /** The format of all matrices that no rule names. */
  readonly format: string;
  /** What it is good for, for people. */
  readonly summary: string;
}

/** Every mix, the largest files first. Names, numbers and rules are llama.cpp's (`llama-quantize`). */
export const MIXES: readonly Mix[] = [
  mix('F32', 0, 'F32', 'all weights as they were trained'),
  mix('F16', 1, 'F16', 'half the size of F32, the same answers'),
  mix('BF16', 32, 'BF16', 'half the size of F32, with its range'),
  mix('Q8_0', 7, 'Q8_0', '8.5 bits a weight, no visible loss'),
  mix('Q6_K', 18, 'Q6_K', '6.6 bits, hardly any loss'),
  mix('Q5_K_M', 17, 'Q5_K', '5.7 bits, very small loss', {
    value: rules.moreBitsForValues,
    down: rules.moreBits('Q6_K'),
  }),
  mix('Q5_K_S', 16, 'Q5_K', '5.5 bits, very small loss'),
  mix('Q5_1', 9, 'Q5_1', '6 bits, an older format'),
  mix('Q5_0', 8, 'Q5_0', '5.5 bits, an older format', { down: rules.firstByImportance('Q5_1') }),
  mix('Q4_K_M', 15, 'Q4_K', '4.9 bits, small loss: what most people use', {
    value: rules.moreBitsForValues,
    down: rules.downOfQ4KM,
    output8: 'Q5_K',
  }),
  mix('Q4_K_S', 14, 'Q4_K', '4.6 bits, small loss', {
    value: ({ index }) => (index < 4 ? 'Q5_K' : undefined),
    down: (place) => (place.falcon ? undefined : rules.first8th('Q5_K')(place)),
    output8: 'Q5_K',
  }),
  mix('IQ4_NL', 25, 'IQ4_NL', '4.5 bits on uneven levels, small loss', rules.IQ4),
  mix('IQ4_XS', 30, 'IQ4_XS', '4.3 bits on uneven levels, small loss', rules.IQ4),
  mix('Q4_1', 3, 'Q4_1', '5 bits, an older format'),
  mix('Q4_0', 2, 'Q4_0', '4.5 bits, an older format, fast everywhere', {
    down: rules.firstByImportance('Q4_1'),
  }),
  mix('MXFP4_MOE', 38, 'MXFP4', 'experts in 4.3 bits (FP4), all else in Q8_0', { fp4Experts: true }),
  mix('Q3_K_L', 13, 'Q3_K', '4.3 bits, noticeable loss', {
    value: () => 'Q5_K',
    down: ({ falcon }) => (falcon ? 'Q4_K' : 'Q5_K'),
    output: 'Q5_K',
    falconOutput: 'Q4_K',
  }),
  mix('Q3_K_M', 12, 'Q3_K', '3.9 bits, noticeable loss', {
    value: ({ index }) => (index < 2 ? 'Q5_K' : 'Q4_K'),
    down: rules.downOfQ3KM,
    output: 'Q4_K',
    output8: 'Q5_K',
  }),
  mix('Q3_K_S', 11, 'Q3_K', '3.5 bits, considerable loss', { output8: 'Q5_K' }),
  mix('IQ3_M', 27, 'IQ3_S', '3.7 bits, noticeable loss', {
    value: () => 'Q4_K',
    down: rules.downOfIQ3M,
    output: 'Q4_K',
    output8: 'Q5_K',
  }),
  mix('IQ3_S', 26, 'IQ3_S', '3.4 bits, considerable loss', {
    value: rules.ifGrouped('Q4_K'),
    output8: 'Q5_K',
  }),
  mix('IQ3_XS', 22, 'IQ3_S', '3.3 bits, considerable loss', {
    value: rules.ifGrouped('Q4_K'),
    key: 'IQ3_XXS',
    query: 'IQ3_XXS',
    upAndGate: rules.middle('IQ3_XXS'),
    output8: 'Q5_K',
  }),
  mix('IQ3_XXS', 23, 'IQ3_XXS', '3.1 bits, considerable loss; needs an importance matrix', {
    value: ({ groups, hasImportance }) => (groups >= 4 ? 'Q4_K' : hasImportance ? 'IQ3_XXS' : 'IQ3_S'),
    key: 'IQ2_S',
    query: 'IQ2_S',
    down: (place) => (place.hasImportance ? undefined : (rules.first8th('Q4_K')(place) ?? 'Q3_K')),
    output: 'IQ3_S',
    output8: 'Q5_K',
    head: 'Q5_K',
    embedding: 'IQ3_S',
  }),
  mix('Q2_K', 10, 'Q2_K', '3.2 bits, heavy loss', {
    value: ({ groups }) => (groups >= 4 ? 'Q4_K' : 'Q3_K'),
    down: () => 'Q3_K',
    output: 'Q3_K',
    output8: 'Q5_K',
  }),
  mix('Q2_K_S', 21, 'Q2_K', '2.8 bits, heavy loss; needs an importance matrix', {
    value: rules.ifGrouped('Q4_K'),
    down: rules.first8th('Q4_K'),
  }),
  mix(
    'IQ2_M',
    29,
    'IQ2_S',
    '2.7 bits, heavy loss; needs an importance matrix',
    rules.lowBits('IQ3_S', 'IQ3_S', 'IQ3_S'),
  ),
  mix(
    'IQ2_S',
    28,
    'IQ2_XS',
    '2.5 bits, heavy loss; needs an importance matrix',
    rules.lowBits('IQ3_S', 'IQ3_S', 'IQ3_S'),
  ),
  mix(
    'IQ2_XS',
    20,
    'IQ2_XS',
    '2.3 bits, heavy loss; needs an importance matrix',
    rules.lowBits('Q2_K', 'Q2_K'),
  ),
  mix(
    'IQ2_XXS',
    19,
    'IQ2_XXS',
    '2.1 bits, heavy loss; needs an importance matrix',
    rules.lowBits('Q2_K', 'Q2_K'),
  ),
  mix(
    'IQ1_M',
    31,
    'IQ1_M',
    '1.8 bits, mostly broken; needs an importance matrix',
    rules.lowBits('Q2_K', 'Q2_K', 'IQ2_XXS'),
  ),
  mix(
    'IQ1_S',
    24,
    'IQ1_S',
    '1.6 bits, mostly broken; needs an importance matrix',
    rules.lowBits('Q2_K', 'Q2_K', 'IQ2_XXS'),
  ),
  mix('TQ2_0', 37, 'TQ2_0', '2.1 bits, for models trained with ternary weights', { embedding: 'Q4_K' }),
  mix('TQ1_0', 36, 'TQ1_0', '1.7 bits, for models trained with ternary weights', { embedding: 'Q4_K' }),
  mix('Q2_0', 41, 'Q2_0', '2.3 bits, for models trained for it', { embedding: 'Q4_K' }),
  mix('Q1_0', 40, 'Q1_0', '1.1 bits, for models trained with binary weights'),
];

/** Shorter names that people use. */
const ALIASES: Readonly<Record<string, string>> = { Q3_K: 'Q3_K_M', Q4_K: 'Q4_K_M', Q5_K: 'Q5_K_M' };

/** The mix of a name in any case, or undefined. */
export function mixNamed(name: string): Mix | undefined {
  const upper = name.toUpperCase();
  return MIXES.find((known) => known.name === (ALIASES[upper] ?? upper));
}

function mix(name: string, fileType: number, format: string, summary: string, more: MixRules = {}): Mix {
  return { name, fileType, format, summary, ...more };
}
