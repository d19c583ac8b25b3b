/** Reads the JSON objects of server-sent events, whose bytes may come in several streams, one going on with the other. */
export class EventLines {
  /** Bytes that were taken: where another stream goes on. */
  byteLength = 0;
  readonly #decoder = new TextDecoder();
  #rest = '';

  /** The objects of a stream. It is cancelled when they are not wanted any more. Throws `SyntaxError` for what is no JSON of one. */
  async *read(body: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<object, void> {
    const reader = body.getReader();
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        for (const data of this.#take(value)) yield objectOf(data);
      }
    } finally {
      await reader.cancel().catch(() => {});
    }
  }

  #take(bytes: Uint8Array<ArrayBuffer>): string[] {
    this.byteLength += bytes.length;
    const lines = (this.#rest + this.#decoder.decode(bytes, { stream: true })).split('\n');
    this.#rest = lines.pop() ?? '';
    return lines
      .filter((line) => line.startsWith('data:'))
      .map((line) => line.slice('data:'.length).trim())
      .filter((data) => data !== '[DONE]');
  }
}

function objectOf(data: string): object {
  const value: unknown = JSON.parse(data);
  if (typeof value !== 'object' || value === null) throw new SyntaxError('an event without an object');
  return value;
}
