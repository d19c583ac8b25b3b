/** The progress of a model into the store. */
export interface DownloadProgress {
  /** `checking` while data of an earlier download is hashed, then `downloading`. */
  readonly phase: 'checking' | 'downloading';
  /** Bytes stored, or hashed. */
  readonly bytes: number;
  /** Undefined if the server does not report it. */
  readonly totalBytes: number | undefined;
  /** Seconds since the download started. */
  readonly seconds: number;
  /** Billions of bytes per second since then, not counting those stored earlier. */
  readonly gigabytesPerSecond: number;
}

/** Every report is sent to the page, so there is one per hundredth of the size, or per interval. */
const INTERVAL_MS = 50;
const STEP = 0.01;

/** Reports a download's progress at intervals and at its end. */
export class DownloadMeter {
  readonly #report: ((progress: DownloadProgress) => void) | undefined;
  readonly #begin = performance.now();
  #last = 0;
  #lastBytes = 0;
  #received = 0;

  constructor(report: ((progress: DownloadProgress) => void) | undefined) {
    this.#report = report;
  }

  /** Takes the current state, and the number of bytes received since the last call. */
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
