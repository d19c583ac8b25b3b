import { Crc32 } from '../base/crc32.ts';
import { fail, isRocmforgeError } from '../base/errors.ts';
import type { ByteSink, ByteSource } from '../io/index.ts';
import { type SequenceSnapshot, sharedBytes } from '../runtime/sequence-snapshot.ts';
import { checkCallArguments } from './call-arguments.ts';
import type { TextModel } from './text-model.ts';

/** The first bytes of a state file, and the version of its format. */
const MAGIC = 'RFSTATE\n';
const VERSION = 1;

/** Bytes of the magic number, the version, the length of the description and the number of ids. */
const HEAD_BYTES = 20;
const CHECKSUM_BYTES = 4;

/** Maximum bytes of the description: a model has a few states per layer. */
const MAX_DESCRIPTION = 2 ** 20;

/** Bytes that are written, read and checked at once: a fraction of a millisecond. */
const PIECE_BYTES = 2 ** 18;

/** The part of a state file that is JSON. */
interface Description {
  /** The model that computed the state. */
  readonly model: string;
  /** The size in bytes of each of its states. */
  readonly states: readonly number[];
}

/**
 * Rejects with `INVALID_ARGUMENT`, which names the `option` that needs them, if states of the model cannot be saved because its layers
 * are split over ranks.
 */
export async function checkSavable(model: TextModel, option: string): Promise<void> {
  await model.stateShape(1).catch((error: unknown) => {
    if (!isRocmforgeError(error, 'INVALID_ARGUMENT') || error.params.name !== 'state') throw error;
    const [found, expected] = ['a model whose layers are split', 'one device, or stages of one (--gpus 2x1)'];
    return fail('INVALID_ARGUMENT', { name: option, found, expected }, error);
  });
}

/**
 * Writes a saved state of a model; resolves with the number of bytes. The format, little-endian: `RFSTATE\n`; u32
 * version 1; u32 length of the description; u32 number of ids; the description, JSON `{"model": fingerprint, "states":
 * [bytes, ...]}`; the ids as u32; the states one after another; the CRC-32 of all of that as u32. Rejects with
 * `INVALID_ARGUMENT` for a state that only this process could use (of a prompt with vectors, or with LoRA adapters or a cache salt),
 * and with errors of writing.
 */
export async function writeState(
  model: TextModel,
  snapshot: SequenceSnapshot,
  sink: ByteSink,
): Promise<number> {
  checkCallArguments({ model, snapshot, sink });
  const { ids, states, lineage } = snapshot;
  const refuse = (found: string, expected: string) =>
    fail('INVALID_ARGUMENT', { name: 'snapshot', found, expected });
  if (lineage !== undefined)
    refuse('a state with LoRA adapters or a cache salt', 'a state of the model alone');
  if (ids.some((id) => id < 0)) refuse('a prompt with vectors', 'token ids');
  const { fingerprint } = await model.stateShape(ids.length);
  const described: Description = { model: fingerprint, states: states.map(({ length }) => length) };
  const description = new TextEncoder().encode(JSON.stringify(described));
  const head = new Uint8Array(HEAD_BYTES);
  head.set(new TextEncoder().encode(MAGIC));
  const view = new DataView(head.buffer);
  for (const [at, value] of [VERSION, description.length, ids.length].entries()) {
    view.setUint32(MAGIC.length + 4 * at, value, true);
  }
  const crc = new Crc32();
  let written = 0;
  const write = async (bytes: Uint8Array) => {
    for (const piece of piecesOf(bytes)) {
      crc.update(piece);
      await sink.write(piece);
    }
    written += bytes.length;
  };
  for (const part of [head, description, wordsOf(ids), ...states]) await write(part);
  await sink.write(wordsOf([crc.value]));
  return written + CHECKSUM_BYTES;
}

/**
 * Reads a state that `writeState` has written. Rejects with `STATE_INVALID` if it is not one, is incomplete or damaged,
 * or belongs to another model or another type of cache; all of that but damage is found before memory is allocated for
 * it. Rejects with `CONTEXT_OVERFLOW` if it has more positions than the model's context, and with errors of reading.
 */
export async function readState(
  model: TextModel,
  source: ByteSource,
  signal?: AbortSignal,
): Promise<SequenceSnapshot> {
  checkCallArguments({ model, source }, { signal });
  const refuse = (found: string, expected: string) => fail('STATE_INVALID', { found, expected });
  const crc = new Crc32();
  let at = 0;
  const read = async (into: Uint8Array) => {
    for (const piece of piecesOf(into)) {
      await source.read(at, piece, signal);
      crc.update(piece);
      at += piece.length;
    }
    return into;
  };
  if (source.size < HEAD_BYTES + CHECKSUM_BYTES) refuse(`${source.size} bytes`, 'a saved state');
  const head = await read(new Uint8Array(HEAD_BYTES));
  if (new TextDecoder().decode(head.subarray(0, MAGIC.length)) !== MAGIC)
    refuse('other bytes at the beginning', 'a saved state');
  const [version = 0, described = 0, count = 0] = idsOf(head.subarray(MAGIC.length));
  if (version !== VERSION) refuse(`version ${version}`, `version ${VERSION}`);
  if (described > MAX_DESCRIPTION || at + described > source.size)
    refuse(`a description of ${described} bytes`, `at most ${Math.min(MAX_DESCRIPTION, source.size - at)}`);
  const { model: found, states } = descriptionOf(await read(new Uint8Array(described)), refuse);
  if (count > model.context) fail('CONTEXT_OVERFLOW', { tokens: count, context: model.context });
  const { fingerprint, sizes } = await model.stateShape(count);
  if (found !== fingerprint) refuse(`a state of model ${found}`, `one of model ${fingerprint}`);
  if (states.join() !== sizes.join())
    refuse(`${states.length} states of ${sum(states)} bytes`, `${sizes.length} of ${sum(sizes)} bytes`);
  const end = at + 4 * count + sum(sizes) + CHECKSUM_BYTES;
  if (source.size !== end) refuse(`${source.size} bytes`, `${end} bytes`);
  const ids = idsOf(await read(new Uint8Array(4 * count)));
  const contents: Uint8Array[] = [];
  for (const size of sizes) contents.push(await read(sharedBytes(size)));
  const expected = crc.value;
  const [checksum = 0] = idsOf(await read(new Uint8Array(CHECKSUM_BYTES)));
  if (checksum !== expected) refuse(`checksum ${checksum}`, `${expected}: the file is damaged`);
  return { ids, states: contents };
}

function descriptionOf(bytes: Uint8Array, refuse: (found: string, expected: string) => never): Description {
  const text = new TextDecoder().decode(bytes);
  try {
    const { model, states } = JSON.parse(text) as Partial<Description>;
    const isRight = typeof model === 'string' && Array.isArray(states);
    if (isRight && states.every((size) => Number.isSafeInteger(size) && size >= 0)) return { model, states };
  } catch {
    // It is refused below.
  }
  return refuse('another description', 'that of a saved state');
}

function* piecesOf(bytes: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) yield bytes.subarray(at, at + PIECE_BYTES);
}

/** Numbers as u32, little-endian. */
function wordsOf(numbers: readonly number[]): Uint8Array {
  const view = new DataView(new ArrayBuffer(4 * numbers.length));
  for (const [at, number] of numbers.entries()) view.setUint32(4 * at, number, true);
  return new Uint8Array(view.buffer);
}

function idsOf({ buffer, byteOffset, byteLength }: Uint8Array): number[] {
  const view = new DataView(buffer, byteOffset, byteLength);
  return Array.from({ length: byteLength / 4 }, (_, at) => view.getUint32(4 * at, true));
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
