import { readFile } from 'node:fs/promises';
import { fail } from '../base/errors.ts';
import type { BenchmarkResult } from '../evaluate/benchmark.ts';
import type { CheckResult } from '../evaluate/benchmark-check.ts';
import { writeText } from './text-files.ts';

/** The results of `rocmforge bench`: the model and the machine, seconds to load, tokens per second. */
export interface BenchRecord {
  readonly model: string;
  readonly modelBytes: number;
  readonly device: string;
  /** Which kernels the CPU device ran. */
  readonly kernels?: string;
  readonly loadSeconds: number;
  readonly results: readonly BenchmarkResult[];
  /** The same tests' tokens, compared with another device's. */
  readonly checks?: readonly CheckResult[];
}

/** A test in two records, and the ratio of their times. */
export interface BenchRatio {
  readonly test: string;
  readonly before: number;
  readonly now: number;
  /** Above 1 is slower. */
  readonly ratio: number;
}

/** Compares the tests that both records have. Throws `INVALID_ARGUMENT` when they share none. */
export function compareRecords(before: BenchRecord, now: BenchRecord): BenchRatio[] {
  const ratios = now.results.flatMap(({ test, median }) => {
    const old = before.results.find((result) => result.test === test)?.median;
    return old === undefined ? [] : [{ test, before: old, now: median, ratio: old / median }];
  });
  if (ratios.length > 0) return ratios;
  const found = before.results.map(({ test }) => test).join(', ');
  const expected = `one of ${now.results.map(({ test }) => test).join(', ')}`;
  return fail('INVALID_ARGUMENT', { name: 'tests of the saved benchmark', found, expected });
}

/** Reads a file written by `saveRecord`. Rejects with `SOURCE_UNAVAILABLE` or `INVALID_ARGUMENT`. */
export async function readRecord(path: string): Promise<BenchRecord> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error);
    return fail('SOURCE_UNAVAILABLE', { source: path, reason }, error);
  });
  const record = parseJson(text) as Partial<BenchRecord> | undefined;
  const valid = record?.results?.every?.(({ test, median }) => typeof test === 'string' && median > 0);
  if (record && valid) return record as BenchRecord;
  return fail('INVALID_ARGUMENT', { name: path, found: 'something else', expected: 'what --save wrote' });
}

/** Writes a record as JSON. Rejects as `writeText`. */
export async function saveRecord(path: string, record: BenchRecord, signal: AbortSignal): Promise<void> {
  await writeText(path, `${JSON.stringify(record, null, 2)}\n`, signal);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
