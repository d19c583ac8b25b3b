import { UnreadableFile } from './unreadable-file.ts';

/** What all files of an archive may unpack to, in bytes: a small archive can hold any amount of zeros. */
const MOST_UNPACKED = 256 * 2 ** 20;

const END_SIGNATURE = 0x06_05_4b_50;
const END_LENGTH = 22;
const MOST_COMMENT = 0xff_ff;
const ENTRY_SIGNATURE = 0x02_01_4b_50;
const ENTRY_LENGTH = 46;
const LOCAL_LENGTH = 30;
const ENCRYPTED = 1;
const STORED = 0;
const DEFLATED = 8;

/** A file in an archive, by its directory. */
interface Entry {
  readonly method: number;
  readonly isEncrypted: boolean;
  /** Where its own header begins. */
  readonly offset: number;
  readonly packedLength: number;
}

/** The files of a ZIP archive (PKWARE's APPNOTE.TXT, without ZIP64), which office documents and llama.cpp's exports are. */
export class Archive {
  readonly #view: DataView<ArrayBuffer>;
  readonly #file: Blob;
  readonly #entries = new Map<string, Entry>();
  #unpacked = 0;

  /** Throws `UnreadableFile` if it is none. */
  constructor(bytes: Uint8Array<ArrayBuffer>) {
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#file = new Blob([bytes]);
    try {
      this.#readDirectory();
    } catch (error) {
      throw error instanceof RangeError ? new UnreadableFile('broken', { cause: error }) : error;
    }
  }

  get names(): readonly string[] {
    return [...this.#entries.keys()];
  }

  has(name: string): boolean {
    return this.#entries.has(name);
  }

  /** A file's text; undefined if there is no such file. Throws `UnreadableFile` if it cannot be unpacked. */
  async text(name: string): Promise<string | undefined> {
    const entry = this.#entries.get(name);
    if (!entry) return undefined;
    if (entry.isEncrypted) throw new UnreadableFile('protected');
    const { offset, packedLength, method } = entry;
    if (offset + LOCAL_LENGTH > this.#view.byteLength) throw new UnreadableFile('broken');
    const nameLength = this.#view.getUint16(offset + 26, true);
    const extraLength = this.#view.getUint16(offset + 28, true);
    const begin = offset + LOCAL_LENGTH + nameLength + extraLength;
    const packed = this.#file.slice(begin, begin + packedLength).stream();
    if (method === STORED) return this.#decode(packed);
    if (method !== DEFLATED) throw new UnreadableFile('unknown');
    return this.#decode(packed.pipeThrough(new DecompressionStream('deflate-raw')));
  }

  async #decode(stream: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<string> {
    const decoder = new TextDecoder();
    const reader = stream.getReader();
    let text = '';
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return text + decoder.decode();
        this.#unpacked += value.length;
        if (this.#unpacked > MOST_UNPACKED) throw new UnreadableFile('large');
        text += decoder.decode(value, { stream: true });
      }
    } catch (error) {
      // What else is thrown comes from the decompressor.
      throw error instanceof UnreadableFile ? error : new UnreadableFile('broken', { cause: error });
    } finally {
      await reader.cancel().catch(() => {});
    }
  }

  #readDirectory(): void {
    const view = this.#view;
    let end = view.byteLength - END_LENGTH;
    const first = Math.max(0, end - MOST_COMMENT);
    while (end >= first && view.getUint32(end, true) !== END_SIGNATURE) end--;
    if (end < first) throw new UnreadableFile('broken');
    const count = view.getUint16(end + 10, true);
    let at = view.getUint32(end + 16, true);
    for (let entry = 0; entry < count; entry++) {
      if (view.getUint32(at, true) !== ENTRY_SIGNATURE) throw new UnreadableFile('broken');
      const nameLength = view.getUint16(at + 28, true);
      const name = new Uint8Array(view.buffer, view.byteOffset + at + ENTRY_LENGTH, nameLength);
      this.#entries.set(new TextDecoder().decode(name), {
        isEncrypted: (view.getUint16(at + 8, true) & ENCRYPTED) !== 0,
        method: view.getUint16(at + 10, true),
        packedLength: view.getUint32(at + 20, true),
        offset: view.getUint32(at + 42, true),
      });
      at += ENTRY_LENGTH + nameLength + view.getUint16(at + 30, true) + view.getUint16(at + 32, true);
    }
  }
}
