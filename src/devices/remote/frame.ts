import { invariant } from '../../base/errors.ts';

/** The version of the protocol. Processes talk to those of the same version of rocmforge only, as graphs are no format of their own. */
export const PROTOCOL = 1;

/** Every kind of frame, with its operands. */
export const FRAME = {
  /** Who serves: a text about itself. */
  hello: 1,
  /** Who connects: a text with the proof that it knows the secret. */
  login: 2,
  /** The connection is accepted: a text that describes the device. */
  welcome: 3,
  /** The connection is refused: a text with the error. */
  refused: 4,
  /** Whoever sends it is alive. */
  alive: 5,
  /** The device was lost: a text with the error. */
  lost: 6,

  /** request, program; a text with the graph. */
  compile: 16,
  /** program */
  dropProgram: 17,
  /** buffer, bytes; a text with the label. */
  createBuffer: 18,
  /** buffer */
  dropBuffer: 19,
  /** stream; a text with the label. */
  createStream: 20,
  /** request, stream */
  endStream: 21,
  /** request, step; a text with the executables. */
  record: 22,
  /** step */
  dropStep: 23,
  /** stream, buffer, offset; the bytes. */
  upload: 24,
  /** stream, buffer, offset, buffer, offset, bytes */
  copy: 25,
  /** request, stream, buffer, offset, bytes */
  download: 26,
  /** stream, buffer, offset, program, weight, part, first row, rows, format; the rows. */
  pack: 27,
  /** stream, step */
  run: 28,
  /** stream, event */
  mark: 29,
  /** stream, event */
  wait: 30,
  /** request */
  memory: 31,
  /** request */
  settle: 32,
  /** request, program, weight, part, format */
  readyToDecode: 33,
  /** As `pack`; a text that says where the rows are in the other side's own file. */
  packOwn: 34,
  /** request; a text with the path of a file of the model. Answered with its fingerprint, by a process that is started for one program. */
  openFile: 35,
  /** request, rank, ranks; a text with the id by which they find one another. Answered when all have joined. */
  joinPeers: 36,
  /** request */
  leavePeers: 37,
  /** A text with the error for which nothing waits for the others any more. */
  abortPeers: 38,

  /** request; a text with the result, or bytes. */
  answer: 48,
  /** request; a text with the error. */
  failed: 49,
  /** event, milliseconds by the other side's clock */
  reached: 50,
  /** event; a text with the error. */
  missed: 51,
} as const;

/** Operands that a frame has room for. */
const OPERANDS = 9;

const MAGIC = 0x52464431;
/** Magic, kind, bytes of the text, bytes of data, operands. */
export const HEAD_BYTES = 16 + 8 * OPERANDS;

/** The first part of a frame, which says what else there is. */
export interface FrameHead {
  readonly kind: number;
  readonly operands: readonly number[];
  readonly textBytes: number;
  readonly dataBytes: number;
}

/** A frame to be sent. */
export interface Frame {
  readonly kind: number;
  /** Whole numbers, or milliseconds. */
  readonly operands?: readonly number[];
  /** Sent as JSON. */
  readonly text?: unknown;
  readonly data?: Uint8Array | undefined;
}

/** Data of at most so many bytes is copied, so that a frame is one piece. */
const SMALL_DATA = 16 * 1024;

/** The bytes of a frame, in one or two pieces. Little data is copied. */
export function encodeFrame({ kind, operands = [], text, data }: Frame): readonly Uint8Array[] {
  invariant(operands.length <= OPERANDS, 'a frame has room for its operands');
  const textBytes = text === undefined ? undefined : new TextEncoder().encode(JSON.stringify(text));
  const inside = data && data.byteLength <= SMALL_DATA ? data : undefined;
  const textEnd = HEAD_BYTES + (textBytes?.byteLength ?? 0);
  const bytes = new Uint8Array(textEnd + (inside?.byteLength ?? 0));
  const head = new DataView(bytes.buffer);
  head.setUint32(0, MAGIC, true);
  head.setUint32(4, kind, true);
  head.setUint32(8, textEnd - HEAD_BYTES, true);
  head.setUint32(12, data?.byteLength ?? 0, true);
  for (const [index, operand] of operands.entries()) head.setFloat64(16 + 8 * index, operand, true);
  if (textBytes) bytes.set(textBytes, HEAD_BYTES);
  if (inside) bytes.set(inside, textEnd);
  return data && !inside ? [bytes, data] : [bytes];
}

/** Reads a head of `HEAD_BYTES`. Undefined if it is none of this protocol. */
export function decodeHead(bytes: Uint8Array): FrameHead | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, HEAD_BYTES);
  if (view.getUint32(0, true) !== MAGIC) return undefined;
  const operands = Array.from({ length: OPERANDS }, (_, index) => view.getFloat64(16 + 8 * index, true));
  const [kind, textBytes, dataBytes] = [4, 8, 12].map((at) => view.getUint32(at, true)) as [
    number,
    number,
    number,
  ];
  return { kind, operands, textBytes, dataBytes };
}
