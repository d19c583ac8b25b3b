/** How far a model has come into the store. */
export interface DownloadProgress {
  /** `checking` while what an earlier download left is hashed, `downloading` then. */
  readonly phase: 'checking' | 'downloading';
  /** Bytes that are stored, or were hashed. */
  readonly bytes: number;
  /** Undefined where the server does not tell. */
  readonly totalBytes: number | undefined;
  /** Seconds since the download began. */
  readonly seconds: number;
  /** Billions of bytes a second that came since then, those kept from before not counted. */
  readonly gigabytesPerSecond: number;
}

/** Every report crosses to the page: what is reported moved by a hundredth, or something happened for so long. */
const INTERVAL_MS = 50;
const STEP = 0.01;

/** Reports a download's pace, now and then and at its end. */
export class DownloadMeter {
  readonly #report: ((progress: DownloadProgress) => void) | undefined;
  readonly #begin = performance.now();
  #last = 0;
  #lastBytes = 0;
  #received = 0;

  constructor(report: ((progress: DownloadProgress) => void) | undefined) {
    this.#report = report;
  }

  /** Takes what is there, and how many bytes of it came over the line since the last call. */
  report(at: Pick<DownloadProgress, 'phase' | 'bytes' | 'totalBytes'>, received = 0): void {
    this.#received += received;
    const now = performance.now();
    const moved = at.bytes - this.#lastBytes >= STEP * (at.totalBytes ?? Number.POSITIVE_INFINITY);
    if (!moved && now - this.#last < INTERVAL_MS && at.bytes !== at.totalBytes) return;
    this.#last = now;
    this.#lastBytes = at.bytes;
    const seconds = (now - this.#begin) / 1000;
    this.#report?.({ ...at, seconds, gigabytesPerSecond: this.#received / Math.max(seconds, 1e-9) / 1e9 });
  }
}
