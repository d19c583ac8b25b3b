/** `rocmforge/gguf`: GGUF files read and written: header, metadata, tensors, files in parts. */
export * from '../gguf/index.ts';
export type { HeaderOptions } from '../gguf/header-reader.ts';
export type { ValueRange } from '../gguf/scan-metadata.ts';
export type { SplitOptions } from '../gguf/split.ts';
