import type { StripRules } from './special-splitter.ts';
import { TOKEN_TYPES } from './token-type.ts';
import type { TokenizerMetadata } from './tokenizer-metadata.ts';
import type { Vocabulary } from './vocabulary.ts';

const MASKED_PRETOKENIZERS = ['jina-v2-de', 'jina-v2-es', 'jina-v2-code'];
const MASKED_ARCHITECTURES = ['nomic-bert-moe', 'jina-bert-v3'];
const PHI3_NOT_STRIPPING = new Set(['<unk>', '<s>', '<|endoftext|>']);

/**
 * Which special tokens swallow whitespace around them. GGUF does not store these attributes of the original tokenizers;
 * they are known by the model's name, as in llama.cpp.
 */
export function readStripRules(metadata: TokenizerMetadata, vocabulary: Vocabulary): StripRules {
  const pretokenizer = metadata.string('tokenizer.ggml.pre') ?? '';
  const architecture = metadata.string('general.architecture') ?? '';
  const name = (metadata.string('general.name') ?? '').toLowerCase();
  const left = new Set<number>();
  const right = new Set<number>();
  if (contains(pretokenizer, MASKED_PRETOKENIZERS) || contains(architecture, MASKED_ARCHITECTURES)) {
    addToken(left, '<mask>');
  } else if (contains(name, ['phi-3', 'phi3'])) {
    for (let id = 0; id < vocabulary.size; id++) {
      const special = !vocabulary.isPlain(id) || vocabulary.types[id] === TOKEN_TYPES.userDefined;
      if (!special || vocabulary.types[id] === TOKEN_TYPES.byte) continue;
      if (!PHI3_NOT_STRIPPING.has(vocabulary.text(id))) right.add(id);
    }
    addToken(right, '</s>');
  } else if (contains(name, ['modern-bert'])) {
    addToken(left, '[MASK]');
  }
  return { left, right };

  function addToken(rules: Set<number>, text: string): void {
    const id = vocabulary.idOf(text);
    if (id !== undefined) rules.add(id);
  }
}

function contains(text: string, parts: readonly string[]): boolean {
  return parts.some((part) => text.includes(part));
}
