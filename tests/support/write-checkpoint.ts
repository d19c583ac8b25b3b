import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { floatToHalf } from '../../src/base/half.ts';
import { byteCharacters } from '../../src/text/byte-alphabet.ts';
import { CHECKPOINTS, type StoredType } from './checkpoints.ts';

/** A text of six chunks of 64 tokens for them. */
export const CHECKPOINT_TEXT = Array.from({ length: 400 }, (_, i) => 'abcdefghij'[(i * i * 7 + i) % 10]).join(
  '',
);

/** Writes a checkpoint into a new folder and returns it; `changes` replace settings. */
export function writeCheckpoint(parent: string, name: string, changes: Record<string, unknown> = {}): string {
  const checkpoint = CHECKPOINTS[name];
  if (!checkpoint) throw new Error(`no checkpoint ${name}`);
  const folder = join(parent, name);
  mkdirSync(folder);
  const json = (file: string, value: unknown) => writeFileSync(join(folder, file), JSON.stringify(value));
  json('config.json', { ...checkpoint.config, ...changes });
  json('generation_config.json', { do_sample: true, temperature: 0.5, top_k: 20, eos_token_id: 2 });
  const entries = Object.entries(checkpoint.tensors);
  if (checkpoint.sharded) {
    const half = Math.ceil(entries.length / 2);
    const parts = [entries.slice(0, half), entries.slice(half)];
    const names = parts.map((_, i) => `model-0000${i + 1}-of-00002.safetensors`);
    const weights = parts.flatMap((part, i) => part.map(([tensor]) => [tensor, names[i]] as const));
    json('model.safetensors.index.json', { weight_map: Object.fromEntries(weights) });
    for (const [i, part] of parts.entries()) {
      writeFileSync(join(folder, names[i] ?? ''), safetensors(part, checkpoint.type, i));
    }
  } else {
    writeFileSync(join(folder, 'model.safetensors'), safetensors(entries, checkpoint.type, 7));
  }
  for (const [file, value] of Object.entries(checkpoint.files ?? {})) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    json(file, value);
  }
  if (checkpoint.tokenizer === 'words') {
    const roles = { unk: '[UNK]', sep: '[SEP]', pad: '[PAD]', cls: '[CLS]', mask: '[MASK]' };
    const tokens = Object.entries(roles).map(([role, text]) => [`${role}_token`, text] as const);
    json('tokenizer_config.json', { tokenizer_class: 'BertTokenizer', ...Object.fromEntries(tokens) });
    json('tokenizer.json', wordPieces());
    return folder;
  }
  json('tokenizer_config.json', {
    tokenizer_class: checkpoint.tokenizer === 'pairs' ? 'PreTrainedTokenizerFast' : 'LlamaTokenizer',
    bos_token: '<s>',
    eos_token: '</s>',
    add_bos_token: checkpoint.tokenizer === 'pieces',
    chat_template: '{{ messages[0].content }}',
    ...(checkpoint.tokenizer === 'pieces' && {
      added_tokens_decoder: {
        300: { content: '<turn>', special: true },
        301: { content: '\u2581x', special: false },
      },
    }),
  });
  if (checkpoint.tokenizer === 'pieces') writeFileSync(join(folder, 'tokenizer.model'), pieces());
  else json('tokenizer.json', bytePairs());
  return folder;
}

/** A safetensors file of random numbers, about normal. */
function safetensors(
  tensors: readonly (readonly [string, readonly number[]])[],
  type: StoredType,
  seed: number,
): Uint8Array {
  const random = generator(seed);
  const parts: Uint8Array[] = [];
  const header: Record<string, unknown> = { __metadata__: { format: 'pt' } };
  let at = 0;
  for (const [name, shape] of tensors) {
    const count = shape.reduce((a, b) => a * b, 1);
    const isPacked = /_(blocks|scales)$/.test(name);
    const bytes = isPacked
      ? Uint8Array.from({ length: count }, () =>
          name.endsWith('_scales') ? 118 + random() * 16 : random() * 256,
        )
      : encoded(
          Array.from({ length: count }, () => (random() + random() + random() - 1.5) / 2),
          type,
        );
    header[name] = { dtype: isPacked ? 'U8' : type, shape, data_offsets: [at, at + bytes.byteLength] };
    at += bytes.byteLength;
    parts.push(bytes);
  }
  const text = Buffer.from(JSON.stringify(header));
  const start = Buffer.alloc(8);
  start.writeBigUInt64LE(BigInt(text.byteLength));
  return Buffer.concat([start, text, ...parts]);
}

function encoded(values: readonly number[], type: StoredType): Uint8Array {
  const floats = Float32Array.from(values);
  if (type === 'F32') return new Uint8Array(floats.buffer);
  const bits = new Uint32Array(floats.buffer);
  const halves = Uint16Array.from(values, (value, i) =>
    type === 'F16' ? floatToHalf(value) : (bits[i] ?? 0) >>> 16,
  );
  return new Uint8Array(halves.buffer);
}

function generator(seed: number): () => number {
  let state = seed * 2654435761 + 12345;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** A SentencePiece model: unknown, begin, end, bytes, letters. */
function pieces(): Uint8Array {
  const piece = (text: string, score: number, type: number) => {
    const bytes = Buffer.from(text);
    const number = Buffer.alloc(4);
    number.writeFloatLE(score);
    return field(1, Buffer.concat([field(1, bytes), Buffer.from([0x15]), number, Buffer.from([0x18, type])]));
  };
  const bytes = Array.from({ length: 256 }, (_, byte) =>
    piece(`<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`, 0, 6),
  );
  const letters = [...'\u2581abcdefghijklmnopqrstuvwxyz'].map((letter, i) => piece(letter, -i, 1));
  const all = [piece('<unk>', 0, 2), piece('<s>', 0, 3), piece('</s>', 0, 3), ...bytes, ...letters];
  const user = piece('\u2581\u2581', 0, 4);
  // A byte-pair model with bytes, without a normalizer.
  const trainer = field(2, Buffer.from([0x18, 2, 0x98, 2, 1]));
  return Buffer.concat([...all, user, trainer, field(3, field(1, Buffer.from('identity')))]);
}

function field(number: number, bytes: Uint8Array): Buffer {
  const length = [bytes.byteLength & 127, bytes.byteLength >> 7];
  const size = bytes.byteLength < 128 ? [bytes.byteLength] : [(length[0] ?? 0) | 128, length[1] ?? 0];
  return Buffer.concat([Buffer.from([(number << 3) | 2, ...size]), bytes]);
}

/** A WordPiece tokenizer of lower-case letters, as BERT's. */
function wordPieces(): unknown {
  const special = ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]'];
  const letters = [...'abcdefghij'];
  const vocabulary = [...special, ...letters, ...letters.map((letter) => `##${letter}`), 'abc', '##bc'];
  const rules = { single_word: false, lstrip: false, rstrip: false, normalized: false, special: true };
  const end = (id: string) => ({ SpecialToken: { id, type_id: 0 } });
  const text = (id: string) => ({ Sequence: { id, type_id: 0 } });
  return {
    version: '1.0',
    added_tokens: special.map((content, id) => ({ id, content, ...rules })),
    normalizer: {
      type: 'BertNormalizer',
      clean_text: true,
      handle_chinese_chars: true,
      strip_accents: null,
      lowercase: true,
    },
    pre_tokenizer: { type: 'BertPreTokenizer' },
    post_processor: {
      type: 'TemplateProcessing',
      single: [end('[CLS]'), text('A'), end('[SEP]')],
      pair: [end('[CLS]'), text('A'), end('[SEP]'), text('B'), end('[SEP]')],
      special_tokens: {
        '[CLS]': { id: '[CLS]', ids: [2], tokens: ['[CLS]'] },
        '[SEP]': { id: '[SEP]', ids: [3], tokens: ['[SEP]'] },
      },
    },
    decoder: { type: 'WordPiece', prefix: '##', cleanup: true },
    model: {
      type: 'WordPiece',
      unk_token: '[UNK]',
      continuing_subword_prefix: '##',
      max_input_chars_per_word: 100,
      vocab: Object.fromEntries(vocabulary.map((piece, id) => [piece, id])),
    },
  };
}

/** A byte-pair tokenizer that splits like Qwen 2's. */
function bytePairs(): unknown {
  const vocabulary = ['<unk>', '<s>', '</s>', ...byteCharacters(), 'ab', 'abc', '\u0120a'];
  const pattern =
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
  const added = (id: number, content: string, special: boolean) => {
    const rules = { single_word: false, lstrip: false, rstrip: false, normalized: false };
    return { id, content, ...rules, special };
  };
  return {
    version: '1.0',
    added_tokens: [
      added(1, '<s>', true),
      added(2, '</s>', true),
      added(262, '<|turn|>', false),
      added(263, '<x>', false),
      added(264, '<|endoftext|>', true),
    ],
    normalizer: { type: 'NFC' },
    pre_tokenizer: {
      type: 'Sequence',
      pretokenizers: [
        { type: 'Split', pattern: { Regex: pattern }, behavior: 'Isolated', invert: false },
        { type: 'ByteLevel', add_prefix_space: false, trim_offsets: false, use_regex: false },
      ],
    },
    post_processor: {
      type: 'TemplateProcessing',
      single: [{ SpecialToken: { id: '<s>', type_id: 0 } }, { Sequence: { id: 'A', type_id: 0 } }],
      pair: [{ Sequence: { id: 'A', type_id: 0 } }, { Sequence: { id: 'B', type_id: 1 } }],
      special_tokens: { '<s>': { id: '<s>', ids: [1], tokens: ['<s>'] } },
    },
    decoder: { type: 'ByteLevel', add_prefix_space: true, trim_offsets: true, use_regex: true },
    model: {
      type: 'BPE',
      dropout: null,
      unk_token: null,
      continuing_subword_prefix: null,
      end_of_word_suffix: null,
      fuse_unk: false,
      byte_fallback: false,
      ignore_merges: false,
      vocab: Object.fromEntries(vocabulary.map((text, id) => [text, id])),
      merges: [
        ['a', 'b'],
        ['ab', 'c'],
        ['\u0120', 'a'],
      ],
    },
  };
}
