import { invalid } from './checkpoint.ts';

/** An entry of a SentencePiece vocabulary; `type` as in GGUF files (1 normal, 2 unknown, 3 control, 4 user-defined, 5 unused, 6 byte). */
export interface SentencePiece {
  readonly text: string;
  readonly score: number;
  readonly type: number;
}

/** Kinds of a protocol buffer's fields. */
const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;
const FIXED32 = 5;

const NORMAL = 1;

/** The vocabulary of a `tokenizer.model`: field 1 of its message (sentencepiece_model.proto). Throws `CHECKPOINT_INVALID`. */
export function readSentencePieces(bytes: Uint8Array, file: string): SentencePiece[] {
  const pieces: SentencePiece[] = [];
  for (const { number, bytes: message } of fieldsOf(bytes, file)) {
    if (number !== 1 || !message) continue;
    let [text, score, type] = ['', 0, NORMAL];
    for (const field of fieldsOf(message, file)) {
      if (field.number === 1 && field.bytes) text = new TextDecoder().decode(field.bytes);
      if (field.number === 2 && field.bytes) score = viewOf(field.bytes).getFloat32(0, true);
      if (field.number === 3) type = field.value;
    }
    pieces.push({ text, score, type });
  }
  if (pieces.length === 0) invalid(file, 'no pieces', 'a SentencePiece model');
  return pieces;
}

interface Field {
  readonly number: number;
  /** Of a varint. */
  readonly value: number;
  /** Of others. */
  readonly bytes?: Uint8Array;
}

function* fieldsOf(bytes: Uint8Array, file: string): Generator<Field> {
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = bytes[at++];
      if (byte === undefined) return invalid(file, 'an end within a number', 'a SentencePiece model');
      value += (byte & 127) * factor;
      if (byte < 128) return value;
    }
  };
  while (at < bytes.length) {
    const tag = varint();
    const number = Math.floor(tag / 8);
    const kind = tag & 7;
    if (kind === VARINT) {
      yield { number, value: varint() };
      continue;
    }
    const length = kind === BYTES ? varint() : kind === FIXED64 ? 8 : kind === FIXED32 ? 4 : Number.NaN;
    if (!(at + length <= bytes.length)) invalid(file, `a field at ${at}`, 'a SentencePiece model');
    yield { number, value: 0, bytes: bytes.subarray(at, at + length) };
    at += length;
  }
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
