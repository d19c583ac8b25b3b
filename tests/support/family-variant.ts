import { F32 } from '../../src/formats/index.ts';
import type { GgufValue } from '../../src/gguf/index.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { syntheticShape } from '../../src/model/synthetic/shapes.ts';
import type { SyntheticFamily, SyntheticShape } from '../../src/model/synthetic-family.ts';
import { writeSyntheticModel } from '../../src/node/write-synthetic-model.ts';

/** How a file differs from the small random one of its architecture, as published files of the family do. */
export interface FamilyVariant {
  readonly name: string;
  readonly architecture: string;
  /** Its differences from the shape `tiny`. */
  readonly sizes?: Partial<SyntheticShape>;
  /** Metadata below the architecture's name, by key; undefined removes one. */
  readonly metadata?: Readonly<Record<string, GgufValue | undefined>>;
  /** Optional tensors that it has in addition to the architecture's, and tensors that it lacks. */
  readonly having?: readonly string[];
  readonly without?: readonly string[];
  /** Shapes of tensors in the first layer that neither we nor llama.cpp use. */
  readonly idle?: Readonly<Record<string, readonly number[]>>;
  /** Whether it embeds texts; the golden then contains vectors. */
  readonly encodes?: true;
  /** The number of scores of a model with a classifier; the golden then contains them. */
  readonly scores?: number;
  /**
   * Where routers and indexers choose otherwise than llama.cpp between scores that are almost equal: the scores' names and
   * positions. There its choice is forced.
   */
  readonly ties?: readonly string[];
  /** The tolerance of a logit, if above `LARGEST_DIFFERENCE`: llama.cpp's table for GELU. */
  readonly difference?: number;
}

/** A list of texts. */
export function texts(...values: string[]): GgufValue {
  return { type: 'array', element: 'string', values };
}

/** Writes a variant's model, the same bytes each time. */
export async function writeVariant(variant: FamilyVariant, path: string): Promise<void> {
  const { architecture, sizes } = variant;
  const shape = syntheticShape('tiny', { architecture, ...sizes });
  const family = familyOfVariant(variant);
  await writeSyntheticModel({ path, name: 'tiny', shape, family, format: F32, seed: 1 });
}

/** The architecture's synthetic family, or another one, with the variant's differences. */
export function familyOfVariant(
  { architecture, metadata, having = [], without = [], idle = {} }: Omit<FamilyVariant, 'name'>,
  of?: SyntheticFamily,
): SyntheticFamily {
  const own = ALL_ARCHITECTURES.find(({ names }) => names.includes(architecture))?.synthetic;
  const family = of ?? own ?? {};
  return {
    ...family,
    metadata: (shape) => {
      const all = Object.entries({ ...family.metadata?.(shape), ...metadata });
      return Object.fromEntries(all.filter((entry): entry is [string, GgufValue] => entry[1] !== undefined));
    },
    unused: (shape) => ({ ...family.unused?.(shape), ...idle }),
    optional: [...(family.optional ?? []).filter((name) => !without.includes(name)), ...having],
  };
}
