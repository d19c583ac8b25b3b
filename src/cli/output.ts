import { styleText } from 'node:util';

/** How much is printed to stderr besides warnings and errors. */
export type Verbosity = 'quiet' | 'normal' | 'verbose';

/** A style of the terminal, or several at once. */
export type Style = Parameters<typeof styleText>[0];

/** The process's stdout and stderr, or their replacements. */
export interface OutputStreams {
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
}

/**
 * Where commands write: results to stdout, everything else to stderr. Notes (progress, timings) appear if stderr is a
 * terminal, always with `verbose`, never with `quiet`. Colours appear on terminals only, and not with NO_COLOR.
 */
export class Output {
  readonly #streams: OutputStreams;
  verbosity: Verbosity = 'normal';
  /** Set if a log goes to stderr: a progress bar would break its lines. */
  logging = false;

  constructor(streams: OutputStreams = process) {
    this.#streams = streams;
  }

  get stderr(): NodeJS.WriteStream {
    return this.#streams.stderr;
  }

  get stdout(): NodeJS.WriteStream {
    return this.#streams.stdout;
  }

  /** True if notes are shown. */
  get notes(): boolean {
    if (this.verbosity === 'normal') return this.stderr.isTTY === true;
    return this.verbosity === 'verbose';
  }

  /** True if notes may be redrawn in place. */
  get bars(): boolean {
    return this.notes && this.stderr.isTTY === true && !this.logging;
  }

  /** Writes text of the result verbatim. Resolves when the reader of a pipe has caught up, or has left. */
  async write(text: string): Promise<void> {
    const { stdout } = this;
    if (stdout.destroyed || stdout.write(text)) return;
    await new Promise<void>((resolve) => {
      const done = () => {
        stdout.off('drain', done).off('close', done);
        resolve();
      };
      stdout.on('drain', done).on('close', done);
    });
  }

  /** Writes a line of the result. */
  line(text = ''): Promise<void> {
    return this.write(`${text}\n`);
  }

  /** Writes a value of the result as JSON: indented for a terminal, on one line for a pipe. */
  json(value: unknown): Promise<void> {
    return this.line(JSON.stringify(value, jsonValue, this.stdout.isTTY ? 2 : 0));
  }

  /** Writes a line to stderr if notes are shown. */
  note(text: string): void {
    if (this.notes) this.stderr.write(`${text}\n`);
  }

  /** Writes a line to stderr that is always shown. */
  warn(text: string): void {
    this.stderr.write(`${text}\n`);
  }

  /** Styled text, plain if `stream` shows no colours. */
  styled(style: Style, text: string, stream: 'stdout' | 'stderr' = 'stderr'): string {
    // Node would ask whether its own stdout shows colours.
    return this.showsColours(stream) ? styleText(style, text, { validateStream: false }) : text;
  }

  /** Whether a stream is a terminal that shows colours, and they are wanted. */
  showsColours(stream: 'stdout' | 'stderr'): boolean {
    const { NO_COLOR, TERM } = process.env;
    return this.#streams[stream].isTTY === true && !NO_COLOR && TERM !== 'dumb';
  }
}

/** JSON has no bigint and no typed arrays. */
function jsonValue(_key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return value.toString();
  if (value instanceof Map) return Object.fromEntries(value);
  if (ArrayBuffer.isView(value) && !(value instanceof DataView)) return Array.from(value as Uint8Array);
  return value;
}
