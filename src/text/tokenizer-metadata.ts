/**
 * What a tokenizer reads of a GGUF file's metadata: look-ups by key that give undefined where the key is absent.
 * `GgufMetadata` satisfies it.
 */
export interface TokenizerMetadata {
  string(key: string): string | undefined;
  number(key: string): number | undefined;
  boolean(key: string): boolean | undefined;
  numbers(key: string): ArrayLike<number> | undefined;
  /** The value as the file holds it. */
  encoded(key: string): { readonly type: string; readonly payload: Uint8Array } | undefined;
  keys(): Iterable<string>;
}
