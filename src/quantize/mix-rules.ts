/** What a rule knows of a matrix. */
export interface MatrixPlace {
  /** How many matrices of the same role come before, in the order of layers, and how many there are. */
  readonly index: number;
  readonly count: number;
  /** The layer of a feed-forward matrix, and the number of layers. */
  readonly layer: number;
  readonly layers: number;
  /** Query heads per head of keys and values. */
  readonly groups: number;
  readonly experts: number;
  readonly hasImportance: boolean;
  readonly falcon: boolean;
}

/** The name of a format, or undefined for the mix's own. */
export type Rule = (place: MatrixPlace) => string | undefined;

/** The rules of a mix, by role of a matrix. */
export interface MixRules {
  /** Values (or queries, keys and values in one matrix): attention is most sensitive to these. */
  readonly value?: Rule;
  readonly key?: string;
  readonly query?: string;
  /** The way out of attention; of models with eight experts; of Falcon. */
  readonly output?: string;
  readonly output8?: string;
  readonly falconOutput?: string;
  readonly down?: Rule;
  readonly upAndGate?: Rule;
  /** The output matrix; default Q6_K, or Q8_0 in a file of these. */
  readonly head?: string;
  /** The table of embeddings, if it is not the output matrix as well. */
  readonly embedding?: string;
  /** A mix of few bits has rules of its own for models with experts. */
  readonly fewBits?: true;
  readonly fp4Experts?: true;
}

/** Whether the layer is among those in which errors cost most: the first and the last eighth, and every third between. */
function isSensitive(index: number, count: number): boolean {
  const eighth = Math.floor(count / 8);
  return index < eighth || index >= Math.floor((7 * count) / 8) || (index - eighth) % 3 === 2;
}

/** The format in the sensitive layers. */
export function moreBits(format: string): Rule {
  return ({ layer, layers }) => (isSensitive(layer, layers) ? format : undefined);
}

/** Q6_K for the values of the sensitive layers. */
export const moreBitsForValues: Rule = ({ index, count }) => (isSensitive(index, count) ? 'Q6_K' : undefined);

/** The format in the first eighth of the layers. */
export function first8th(format: string): Rule {
  return ({ layer, layers }) => (layer < Math.floor(layers / 8) ? format : undefined);
}

/** The same if there is an importance matrix. */
export function firstByImportance(format: string): Rule {
  return (place) => (place.hasImportance ? first8th(format)(place) : undefined);
}

/** The format in all layers but the first and the last eighth. */
export function middle(format: string): Rule {
  return ({ layer, layers }) =>
    layer >= Math.floor(layers / 8) && layer < Math.floor((7 * layers) / 8) ? format : undefined;
}

/** The format if four or more query heads share keys and values: these are small then. */
export function ifGrouped(format: string): Rule {
  return ({ groups }) => (groups >= 4 ? format : undefined);
}

/** Down projections of Q4_K_M. */
export const downOfQ4KM: Rule = (place) => {
  const { falcon, layer, layers } = place;
  if (!falcon) return moreBits('Q6_K')(place);
  return layer < Math.floor(layers / 16) ? 'Q6_K' : moreBits('Q5_K')(place);
};

/** Down projections of Q3_K_M. */
export const downOfQ3KM: Rule = (place) => {
  if (place.layer < Math.floor(place.layers / 16)) return 'Q5_K';
  return place.falcon ? moreBits('Q4_K')(place) : 'Q4_K';
};

/** Down projections of IQ3_M. */
export const downOfIQ3M: Rule = (place) =>
  first8th('Q4_K')(place) ?? (place.experts === 8 ? moreBits('Q4_K')(place) : undefined);

/** The rules of both IQ4 mixes. */
export const IQ4: MixRules = {
  value: ifGrouped('Q5_K'),
  down: (place) => (place.hasImportance ? undefined : first8th('Q5_K')(place)),
  output8: 'Q5_K',
};

/** A mix of less than three bits: the formats of values and first down projections, of the embedding, of attention's output. */
export function lowBits(sensitive: string, embedding: string, output?: string): MixRules {
  return {
    fewBits: true,
    value: ({ groups, experts }) => (groups >= 4 || experts >= 4 ? 'Q4_K' : sensitive),
    down: first8th(sensitive),
    head: 'Q5_K',
    embedding,
    ...(output !== undefined && { output }),
  };
}
