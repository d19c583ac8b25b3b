import { fail } from '../base/errors.ts';
import { invalid } from './endpoint.ts';

/** Maximum bytes of a part's headers, and of a field that is no file. */
const MAX_HEADERS = 8 * 1024;
const MAX_FIELD = 64 * 1024;
/** Maximum parts of a form. */
const MAX_PARTS = 64;

const CRLF = new Uint8Array([13, 10]);
const BLANK_LINE = new Uint8Array([13, 10, 13, 10]);

/**
 * Reads a form (`multipart/form-data`, RFC 7578) while it arrives: `file` gets the name and the content of the part `file`,
 * which it has to read; resolves to the other fields. Rejects with `REQUEST_NOT_FORM`, `REQUEST_INVALID`, and with the
 * errors of `file`.
 */
export async function readForm(
  { headers, body }: Request,
  file: (filename: string, content: AsyncIterable<Uint8Array>) => Promise<void>,
): Promise<Map<string, string>> {
  const type = headers.get('content-type') ?? 'none';
  const [, quoted, bare] =
    /^multipart\/form-data\s*;.*\bboundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))/i.exec(type) ?? [];
  const boundary = quoted ?? bare;
  if (boundary === undefined || !body) fail('REQUEST_NOT_FORM', { found: type.slice(0, 200) });
  const reader = new PartReader(body as unknown as AsyncIterable<Uint8Array>);
  const delimiter = new TextEncoder().encode(`\r\n--${boundary}`);
  for await (const _preamble of reader.until(delimiter));
  const fields = new Map<string, string>();
  let hasFile = false;
  for (let parts = 0; (await reader.take(2)) !== '--'; parts++) {
    if (parts === MAX_PARTS) invalid('body', `the form has more than ${MAX_PARTS} parts`);
    const header = await textOf(reader.until(BLANK_LINE), MAX_HEADERS);
    const disposition = /^content-disposition\s*:\s*form-data\b(.*)$/im.exec(header)?.[1] ?? '';
    const name = parameter(disposition, 'name') ?? invalid('body', 'a part of the form has no name');
    const content = reader.until(delimiter);
    if (name !== 'file') fields.set(name, await textOf(content, MAX_FIELD));
    else {
      if (hasFile) invalid('file', 'there is one file in a request');
      hasFile = true;
      await file(parameter(disposition, 'filename') ?? 'file', content);
    }
  }
  if (!hasFile) invalid('file', 'is required');
  return fields;
}

/** A parameter of a header: escaped as in RFC 7578 and as in the Fetch standard, which most clients use. */
function parameter(header: string, name: string): string | undefined {
  const found = new RegExp(`;\\s*${name}="((?:[^"\\\\]|\\\\.)*)"`, 'i').exec(header)?.[1];
  const plain = found
    ?.replaceAll(/\\(.)/g, '$1')
    .replaceAll(/%(?:22|0a|0d)/gi, (code) => decodeURIComponent(code));
  return plain ?? new RegExp(`;\\s*${name}=([^\\s;"]+)`, 'i').exec(header)?.[1];
}

async function textOf(content: AsyncIterable<Uint8Array>, most: number): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const bytes of content) {
    text += decoder.decode(bytes, { stream: true });
    if (text.length > most) invalid('body', `a part of the form has more than ${most} bytes`);
  }
  return text;
}

/** Bytes that come in pieces, read from one delimiter to the next. */
class PartReader {
  readonly #source: AsyncIterator<Uint8Array>;
  /** The first delimiter has no line break before it. */
  #held: Uint8Array = CRLF;

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  /** The bytes before the delimiter, which is skipped. */
  async *until(delimiter: Uint8Array): AsyncGenerator<Uint8Array, void> {
    for (;;) {
      const at = indexOf(this.#held, delimiter);
      // The end may be the beginning of the delimiter.
      const sure = at < 0 ? Math.max(0, this.#held.length - delimiter.length + 1) : at;
      const piece = this.#held.subarray(0, sure);
      this.#held = this.#held.subarray(at < 0 ? sure : at + delimiter.length);
      if (piece.length > 0) yield piece;
      if (at >= 0) return;
      await this.#more();
    }
  }

  /** The next characters. */
  async take(count: number): Promise<string> {
    while (this.#held.length < count) await this.#more();
    const taken = String.fromCharCode(...this.#held.subarray(0, count));
    this.#held = this.#held.subarray(count);
    return taken;
  }

  async #more(): Promise<void> {
    const { done, value } = await this.#source.next();
    if (done) invalid('body', 'the form ends before its last boundary');
    const joined = new Uint8Array(this.#held.length + value.length);
    joined.set(this.#held);
    joined.set(value, this.#held.length);
    this.#held = joined;
  }
}

function indexOf(bytes: Uint8Array, wanted: Uint8Array): number {
  const [first = 0] = wanted;
  for (let at = bytes.indexOf(first); at >= 0; at = bytes.indexOf(first, at + 1)) {
    if (at + wanted.length > bytes.length) return -1;
    let same = 1;
    while (same < wanted.length && bytes[at + same] === wanted[same]) same++;
    if (same === wanted.length) return at;
  }
  return -1;
}
