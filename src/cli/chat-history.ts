import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { userFolder } from './user-folders.ts';

/** Messages that the arrow keys reach. */
export const HISTORY_SIZE = 1000;

/** The file of what was typed into `rocmforge chat`. */
export function chatHistoryPath(): string {
  return join(userFolder('state'), 'chat-history.jsonl');
}

/**
 * What was typed in earlier runs and in this one: one JSON string per line, so that messages may have several lines. Only its
 * user can read the file. A file that cannot be read or written is reported once and does without.
 */
export class ChatHistory {
  readonly #path: string;
  readonly #warn: (text: string) => void;
  #isUsable = true;

  constructor(path: string, warn: (text: string) => void) {
    this.#path = path;
    this.#warn = warn;
  }

  /** The latest messages, the last one first. */
  read(): string[] {
    return this.#guarded(() => {
      const lines = readOrNothing(this.#path).split('\n').filter(Boolean);
      const latest = lines.slice(-HISTORY_SIZE);
      // Grown to twice its size, it is cut.
      if (lines.length > 2 * HISTORY_SIZE) this.#write(latest);
      return latest.flatMap(messageIn).toReversed();
    }, []);
  }

  /** Appends a message. */
  add(message: string): void {
    this.#guarded(() => {
      mkdirSync(dirname(this.#path), { recursive: true });
      appendFileSync(this.#path, `${JSON.stringify(message)}\n`, { mode: 0o600 });
    }, undefined);
  }

  #write(lines: readonly string[]): void {
    writeFileSync(this.#path, `${lines.join('\n')}\n`, { mode: 0o600 });
  }

  #guarded<T>(work: () => T, otherwise: T): T {
    if (!this.#isUsable) return otherwise;
    try {
      return work();
    } catch (error) {
      this.#isUsable = false;
      const reason = error instanceof Error ? error.message : String(error);
      this.#warn(`no history of messages: ${reason}`);
      return otherwise;
    }
  }
}

function readOrNothing(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  }
}

/** A line that was cut off by a full disk is left out. */
function messageIn(line: string): string[] {
  try {
    const message: unknown = JSON.parse(line);
    return typeof message === 'string' ? [message] : [];
  } catch {
    return [];
  }
}
