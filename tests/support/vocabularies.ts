import { readFileSync } from 'node:fs';
import { brotliDecompressSync } from 'node:zlib';
import { GgufFile, type GgufMetadata } from '../../src/gguf/index.ts';
import { MemorySource } from '../../src/io/index.ts';
import { createTokenizer, type Tokenizer, type TokenizerMetadata } from '../../src/text/index.ts';
import { fixture } from './fixture.ts';

/** llama.cpp's vocabularies that are fixtures. */
export const VOCABULARIES = ['gpt-2', 'llama-bpe', 'llama-spm', 'qwen2'] as const;

/** The text of a file next to the vocabularies. */
export function tokenizerFixture(name: string): string {
  return readFileSync(fixture(`tokenizers/${name}`), 'utf8');
}

/** The metadata of a vocabulary file. */
export async function vocabularyMetadata(name: (typeof VOCABULARIES)[number]): Promise<GgufMetadata> {
  const bytes = new Uint8Array(brotliDecompressSync(readFileSync(fixture(`tokenizers/${name}.gguf.br`))));
  return (await GgufFile.open(new MemorySource(bytes))).metadata;
}

/** The tokenizer of a vocabulary file. */
export async function vocabularyTokenizer(name: (typeof VOCABULARIES)[number]): Promise<Tokenizer> {
  return createTokenizer(await vocabularyMetadata(name));
}

/** The same vocabulary with the rules of another name of `tokenizer.ggml.pre`. */
export function withPretokenizer(metadata: GgufMetadata, name: string): TokenizerMetadata {
  return {
    string: (key) => (key === 'tokenizer.ggml.pre' ? name : metadata.string(key)),
    number: (key) => metadata.number(key),
    boolean: (key) => metadata.boolean(key),
    numbers: (key) => metadata.numbers(key),
    encoded: (key) => metadata.encoded(key),
    keys: () => metadata.keys(),
  };
}
