import type { Stream } from '../device/index.ts';

/** A span in one row of a trace. Times are milliseconds of `performance.now()`. */
export interface TraceSpan {
  readonly row: string;
  readonly name: string;
  readonly begin: number;
  readonly end: number;
  readonly bytes: number;
}

/** An event of Chrome's trace format: times in microseconds. */
export type TraceEvent =
  | {
      readonly ph: 'X';
      readonly pid: number;
      readonly tid: number;
      readonly name: string;
      readonly ts: number;
      readonly dur: number;
      readonly args: { readonly bytes: number };
    }
  | {
      readonly ph: 'M';
      readonly pid: number;
      readonly tid: number;
      readonly name: 'thread_name';
      readonly args: { readonly name: string };
    };

/**
 * A trace of loading: a row for each reader, decoder and stream, for repacking on each stream, for pinned pages, and
 * for the parts of the model that ran meanwhile. Recorded only if one is passed to the loader.
 */
export class LoadTrace {
  readonly #spans: TraceSpan[] = [];

  /** In the order in which they ended. */
  get spans(): readonly TraceSpan[] {
    return this.#spans;
  }

  /** The rows, grouped by kind. */
  get rows(): readonly string[] {
    const rows = new Set(this.#spans.map(({ row }) => row));
    return [...rows].sort((a, b) => a.localeCompare(b, 'en', { numeric: true }));
  }

  /** @internal */
  add(span: TraceSpan): void {
    this.#spans.push(span);
  }

  /** Records work that is being queued on a stream, once the device is done with it. @internal */
  watch(row: string, name: string, stream: Stream, queue: () => void): void {
    const before = stream.record();
    queue();
    const after = stream.record();
    after.completed().then(
      () => {
        const end = performance.now();
        this.add({ row, name, begin: end - after.elapsedSince(before), end, bytes: 0 });
      },
      () => {
        // The stream's error is reported to those who wait for its work.
      },
    );
  }

  /** Discards everything. @internal */
  clear(): void {
    this.#spans.length = 0;
  }

  /** The trace in the format of Perfetto and `chrome://tracing`. */
  toJSON(): { displayTimeUnit: 'ms'; traceEvents: TraceEvent[] } {
    const { rows } = this;
    const start = this.#spans.reduce((least, { begin }) => Math.min(least, begin), Number.POSITIVE_INFINITY);
    const names = rows.map((name, tid): TraceEvent => ({
      ph: 'M',
      pid: 1,
      tid,
      name: 'thread_name',
      args: { name },
    }));
    const spans = this.#spans.map(({ row, name, begin, end, bytes }): TraceEvent => ({
      ph: 'X',
      pid: 1,
      tid: rows.indexOf(row),
      name,
      ts: (begin - start) * 1000,
      dur: (end - begin) * 1000,
      args: { bytes },
    }));
    return { displayTimeUnit: 'ms', traceEvents: [...names, ...spans] };
  }
}
