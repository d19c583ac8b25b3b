import { UnreadableFile } from './unreadable-file.ts';

/** A file whose text goes to the model with a message. */
export interface Attachment {
  readonly name: string;
  readonly text: string;
}

/** Larger files are no texts that a model could read. */
const MOST_BYTES = 64 * 2 ** 20;
const ZIP = 'PK\u0003\u0004';
const PDF = '%PDF-';
/** Office documents of before 2007, and encrypted ones of later. */
const COMPOUND = '\u00d0\u00cf\u0011\u00e0';
/** Its text stands between so much else that it would fill a context. */
const RICH_TEXT = String.raw`{\rtf`;

/** The text of a file: plain text, code, an office document, or a PDF. Throws `UnreadableFile` if there is none to be had. */
export async function readAttachment(file: File): Promise<Attachment> {
  const { name, type, size } = file;
  const isMedia = /^(?:image|audio|video)\//.test(type) && type !== 'image/svg+xml';
  if (isMedia) throw new UnreadableFile('media');
  if (size > MOST_BYTES) throw new UnreadableFile('large');
  const bytes = new Uint8Array(await file.arrayBuffer());
  const text = await textOf(bytes);
  if (text.trim() === '') throw new UnreadableFile('empty');
  return { name, text: text.replaceAll('\r\n', '\n').trim() };
}

async function textOf(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const signature = String.fromCharCode(...bytes.subarray(0, 8));
  if (signature.startsWith(ZIP)) {
    const [{ Archive }, { officeText }] = await Promise.all([import('./archive.ts'), import('./office.ts')]);
    return officeText(new Archive(bytes));
  }
  if (signature.startsWith(PDF)) {
    // What reads them is larger than the page.
    const { pdfText } = await import('./pdf-text.ts').catch((error: unknown) => {
      throw new UnreadableFile('offline', { cause: error });
    });
    return pdfText(bytes);
  }
  if (signature.startsWith(COMPOUND) || signature.startsWith(RICH_TEXT)) throw new UnreadableFile('unknown');
  return plainText(bytes);
}

/** Text by its byte order mark, as UTF-8 or, where that cannot be, as Windows-1252. */
function plainText(bytes: Uint8Array<ArrayBuffer>): string {
  const [first, second] = bytes;
  if (first === 0xff && second === 0xfe) return new TextDecoder('utf-16le').decode(bytes);
  if (first === 0xfe && second === 0xff) return new TextDecoder('utf-16be').decode(bytes);
  if (bytes.includes(0)) throw new UnreadableFile('unknown');
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder('windows-1252').decode(bytes);
  }
}
