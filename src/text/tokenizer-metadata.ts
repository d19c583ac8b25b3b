/**
 * What a tokenizer reads of a GGUF file's metadata: lookups by key, undefined for missing keys. `GgufMetadata`
 * satisfies it.
 */
export interface TokenizerMetadata {
  string(key: string): string | undefined;
  number(key: string): number | undefined;
  boolean(key: string): boolean | undefined;
  numbers(key: string): ArrayLike<number> | undefined;
  /** The value as encoded in the file. */
  encoded(key: string): { readonly type: string; readonly payload: Uint8Array } | undefined;
  keys(): Iterable<string>;
}
