/**
 * What a tokenizer reads of a GGUF file's metadata: typed look-ups by key that give undefined where the key is absent or
 * of another type. `GgufMetadata` satisfies it.
 */
export interface TokenizerMetadata {
  string(key: string): string | undefined;
  number(key: string): number | undefined;
  boolean(key: string): boolean | undefined;
  strings(key: string): readonly string[] | undefined;
  numbers(key: string): ArrayLike<number> | undefined;
  keys(): Iterable<string>;
}
