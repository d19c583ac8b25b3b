import { COMMAND } from '../protocol/command.ts';
import type { Phase } from './chunked.ts';
import type { BankLookup } from './step.ts';

/** Bytes that a worker copies at a time. */
const GRAIN = 256 * 1024;

/** A copy between two addresses, divided into chunks. One object serves all copies. */
export class CopyCommand implements Phase {
  readonly #banks: BankLookup;
  #from: Uint8Array = new Uint8Array(0);
  #to: Uint8Array = new Uint8Array(0);

  constructor(banks: BankLookup) {
    this.#banks = banks;
  }

  read(words: Int32Array): void {
    const word = (at: number) => (words[at] as number) >>> 0;
    const byteLength = word(COMMAND.byteLength);
    this.#from = this.#banks(word(COMMAND.sourceBank)).bytes(word(COMMAND.source), byteLength);
    this.#to = this.#banks(word(COMMAND.targetBank)).bytes(word(COMMAND.target), byteLength);
  }

  prepare(): number {
    return Math.ceil(this.#from.length / GRAIN);
  }

  run(chunk: number): void {
    const begin = chunk * GRAIN;
    this.#to.set(this.#from.subarray(begin, begin + GRAIN), begin);
  }
}
