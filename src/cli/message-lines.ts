/** Begins and ends a message of several lines. */
const QUOTES = '"""';

/**
 * Gathers the lines of a message: those between two `"""`, a line that ends with a backslash and the one after it, and what
 * is pasted. Any other line is a message by itself.
 */
export class MessageLines {
  #lines: string[] = [];
  #isQuoted = false;
  /** Set while a terminal delivers what was pasted: its line breaks do not end the message. */
  isPasting = false;

  /** True between messages. */
  get isEmpty(): boolean {
    return this.#lines.length === 0 && !this.#isQuoted;
  }

  /** Adds a line; returns the message that it completes. */
  add(line: string): string | undefined {
    if (this.isPasting) return this.#keep(line);
    if (this.#isQuoted) return this.#addQuoted(line);
    if (this.#lines.length === 0 && line.trimStart().startsWith(QUOTES)) {
      this.#isQuoted = true;
      return this.#addQuoted(line.trimStart().slice(QUOTES.length));
    }
    if (line.endsWith('\\')) return this.#keep(line.slice(0, -1));
    this.#lines.push(line);
    return this.#whole();
  }

  /** Ends a message that is not complete, and returns what there is of it; undefined between messages. */
  end(): string | undefined {
    return this.isEmpty ? undefined : this.#whole();
  }

  #addQuoted(line: string): string | undefined {
    const trimmed = line.trimEnd();
    const isLast = trimmed.endsWith(QUOTES);
    const text = isLast ? trimmed.slice(0, -QUOTES.length) : line;
    // The quotes may stand in lines of their own.
    const isBlankEdge = text.trim() === '' && (isLast || this.#lines.length === 0);
    if (!isBlankEdge) this.#lines.push(text);
    return isLast ? this.#whole() : undefined;
  }

  #whole(): string {
    const message = this.#lines.join('\n');
    this.#lines = [];
    this.#isQuoted = false;
    return message;
  }

  #keep(line: string): undefined {
    this.#lines.push(line);
    return undefined;
  }
}
