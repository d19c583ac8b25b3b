/** Every `EmbeddingPlace`. */
export const EMBEDDING_PLACES = ['device', 'host'] as const;

/** Where the embedding may be: on the device, or in the host's memory. */
export type EmbeddingPlace = (typeof EMBEDDING_PLACES)[number];

/** The embedding's name in a file. */
export const EMBEDDING_TABLE = 'token_embd.weight';

/** The input of a graph whose embedding stays on the host: the rows of the step's tokens, f32 [rows, width]. */
export const HOST_ROWS = 'embedded';
