import type { GgufValue } from '../../gguf/index.ts';
import { count, text } from '../synthetic-family.ts';
import { MIN_VOCABULARY, SYNTHETIC_SPECIAL, syntheticVocabulary } from './vocabulary.ts';

const CHAT_TEMPLATE =
  "{{ bos_token }}{% for message in messages %}{{ message['role'] + ': ' + message['content'] + '\n' }}{% endfor %}" +
  "{% if add_generation_prompt %}{{ 'assistant:' }}{% endif %}";

/** GGUF's `tokenizer.ggml.token_type`. */
const TYPE = { normal: 1, control: 3 } as const;

/** The first printable character of the byte-level alphabet, and how it spells space and line feed. */
const FIRST_CHARACTER = 0x21;
const SPACE = '\u0120';
const LINE_FEED = '\u010a';

/**
 * A synthetic tokenizer with this many pieces: SentencePiece, or single characters if there are too few pieces for
 * that.
 */
export function tokenizerMetadata(vocabulary: number): [string, GgufValue][] {
  return vocabulary < MIN_VOCABULARY ? characters(vocabulary) : sentencePieces(vocabulary);
}

function sentencePieces(vocabulary: number): [string, GgufValue][] {
  const { pieces, scores, types } = syntheticVocabulary(vocabulary);
  return [
    ['tokenizer.ggml.model', text('llama')],
    ['tokenizer.ggml.tokens', { type: 'array', element: 'string', values: pieces }],
    ['tokenizer.ggml.scores', { type: 'array', element: 'f32', values: scores }],
    ['tokenizer.ggml.token_type', { type: 'array', element: 'i32', values: types }],
    ['tokenizer.ggml.bos_token_id', count(SYNTHETIC_SPECIAL.begin)],
    ['tokenizer.ggml.eos_token_id', count(SYNTHETIC_SPECIAL.end)],
    ['tokenizer.ggml.unknown_token_id', count(SYNTHETIC_SPECIAL.unknown)],
    ['tokenizer.ggml.add_bos_token', { type: 'bool', value: true }],
    ['tokenizer.ggml.add_eos_token', { type: 'bool', value: false }],
    ['tokenizer.chat_template', text(CHAT_TEMPLATE)],
  ];
}

/** A byte-level vocabulary with the end, space, line feed, as many printable characters as fit, and one pair of them. */
function characters(vocabulary: number): [string, GgufValue][] {
  const first = ['<|end|>', SPACE, LINE_FEED];
  const [a, b] = [FIRST_CHARACTER, FIRST_CHARACTER + 1].map((code) => String.fromCodePoint(code));
  const single = Math.max(0, vocabulary - first.length - 1);
  const printable = Array.from({ length: single }, (_, i) => String.fromCodePoint(FIRST_CHARACTER + i));
  const pieces = [...first, ...printable, `${a}${b}`];
  const types = pieces.map((_, id) => (id === 0 ? TYPE.control : TYPE.normal));
  return [
    ['tokenizer.ggml.model', text('gpt2')],
    ['tokenizer.ggml.pre', text('default')],
    ['tokenizer.ggml.tokens', { type: 'array', element: 'string', values: pieces }],
    ['tokenizer.ggml.token_type', { type: 'array', element: 'i32', values: types }],
    ['tokenizer.ggml.merges', { type: 'array', element: 'string', values: [`${a} ${b}`] }],
    ['tokenizer.ggml.eos_token_id', count(0)],
    ['tokenizer.ggml.add_bos_token', { type: 'bool', value: false }],
  ];
}
