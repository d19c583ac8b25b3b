import { Worker } from 'node:worker_threads';
import { RocmforgeError } from '../../base/errors.ts';
import { packageFile } from '../package-file.ts';

const WORKER = './hash-worker.js';

/** What a file's content is checked against. */
export type HashKind = 'sha256' | 'git-sha1';

/** What the thread hashes. */
export interface HashRequest {
  readonly path: string;
  readonly kind: HashKind;
  /** The size of the whole file, which git hashes as well; for sha256 it may be left out. */
  readonly size?: number | undefined;
}

/** Messages to the thread: bytes up to `end` are in the file; with `last`, they are all. */
export interface HashOrder {
  readonly end: number;
  readonly last: boolean;
}

/** Messages from the thread. */
export type HashReport =
  { readonly hashed: number } | { readonly digest: string } | { readonly failure: string };

/** The hash of a file, computed on another thread while the file grows from its beginning. */
export class FileHash implements AsyncDisposable {
  readonly #worker: Worker;
  readonly #digest: Promise<string>;
  #end = 0;

  constructor(request: HashRequest, onHashed: (bytes: number) => void = () => {}) {
    this.#worker = new Worker(packageFile(WORKER, import.meta.url), { workerData: request, name: 'hash' });
    this.#digest = new Promise((resolve, reject) => {
      const failed = (reason: string) => {
        const params = { source: request.path, offset: 0, length: this.#end, reason };
        reject(new RocmforgeError('READ_FAILED', params));
      };
      this.#worker.on('message', (report: HashReport) => {
        if ('digest' in report) resolve(report.digest);
        else if ('failure' in report) failed(report.failure);
        else onHashed(report.hashed);
      });
      this.#worker.on('error', (error) => failed(error.message));
      this.#worker.on('exit', () => failed('the thread ended'));
    });
    this.#digest.catch(() => {});
  }

  /** Says that all bytes before `end` are in the file. */
  grew(end: number): void {
    if (end <= this.#end) return;
    this.#end = end;
    this.#post({ end, last: false });
  }

  /** The hash in hexadecimal, of a file of `size` bytes. Rejects with `READ_FAILED`. */
  finish(size: number): Promise<string> {
    this.#end = size;
    this.#post({ end: size, last: true });
    return this.#digest;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#worker.terminate();
  }

  #post(order: HashOrder): void {
    this.#worker.postMessage(order);
  }
}
