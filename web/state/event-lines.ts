/** Reads the JSON values of server-sent events, whose bytes may come in several streams, one going on with the other. */
export class EventLines {
  /** Bytes that were taken: where another stream goes on. */
  byteLength = 0;
  readonly #decoder = new TextDecoder();
  #rest = '';

  /** The values of a stream. It is cancelled when they are not wanted any more. */
  async *read(body: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<unknown, void> {
    const reader = body.getReader();
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        yield* this.#take(value);
      }
    } finally {
      await reader.cancel().catch(() => {});
    }
  }

  #take(bytes: Uint8Array<ArrayBuffer>): unknown[] {
    this.byteLength += bytes.length;
    const lines = (this.#rest + this.#decoder.decode(bytes, { stream: true })).split('\n');
    this.#rest = lines.pop() ?? '';
    return lines
      .filter((line) => line.startsWith('data:'))
      .map((line) => line.slice('data:'.length).trim())
      .filter((data) => data !== '[DONE]')
      .map((data): unknown => JSON.parse(data));
  }
}
