/** Every `EmbeddingPlace`. */
export const EMBEDDING_PLACES = ['device', 'host'] as const;

/** Where an embedding may be: on the device, or in the host's memory. */
export type EmbeddingPlace = (typeof EMBEDDING_PLACES)[number];

/** The embedding's name in a file. */
export const EMBEDDING_TABLE = 'token_embd.weight';

/** The name of the second embedding, which gives each layer values of its own (Gemma 3n, Gemma 4's E models). */
export const PER_LAYER_TABLE = 'per_layer_token_embd.weight';

/** Where each of a model's embeddings is. */
export interface EmbeddingPlaces {
  readonly tokens: EmbeddingPlace;
  /** Of the second one; without effect for models that have none. */
  readonly perLayer: EmbeddingPlace;
}

/** The input of a graph whose embedding stays on the host: the rows of the step's tokens, f32 [rows, width]. */
export const HOST_ROWS = 'embedded';

/** The same for the second embedding. */
export const HOST_LAYER_ROWS = 'embedded for layers';
