import { basename } from 'node:path';
import { formatBytes } from '../base/bytes.ts';
import type { BenchmarkResult } from '../evaluate/benchmark.ts';
import type { BenchRecord } from './bench-record.ts';

/** What the tables say about the model and the device besides the record. */
export interface BenchSubject {
  readonly parameters: number;
  readonly backend: string;
}

/** A table in Markdown with the columns of llama-bench. */
export function benchMarkdown(record: BenchRecord, { parameters, backend }: BenchSubject): string {
  const facts = [
    basename(record.model),
    formatBytes(record.modelBytes),
    parameters >= 1e9 ? `${(parameters / 1e9).toFixed(2)} B` : `${(parameters / 1e6).toFixed(2)} M`,
    backend,
  ];
  const rows = record.results.map((result) => {
    const { mean, deviation } = samplesOf(result);
    return [...facts, result.test, `${mean.toFixed(2)} ± ${deviation.toFixed(2)}`];
  });
  const heading = ['model', 'size', 'params', 'backend', 'test', 't/s'];
  const rule = ['---', '---:', '---:', '---', '---:', '---:'];
  return [heading, rule, ...rows].map((cells) => `| ${cells.join(' | ')} |\n`).join('');
}

/** Comma-separated values under the names of llama-bench, a line for each test. */
export function benchCsv(record: BenchRecord, { parameters, backend }: BenchSubject): string {
  const heading = [
    'model_filename',
    'model_size',
    'model_n_params',
    'backends',
    'device',
    'n_prompt',
    'n_gen',
    'n_depth',
    'test',
    'avg_ts',
    'stddev_ts',
  ];
  const rows = record.results.map((result) => {
    const { mean, deviation } = samplesOf(result);
    const about = [record.model, record.modelBytes, parameters, backend, record.device];
    return [...about, ...shapeOf(result.test), result.test, mean.toFixed(6), deviation.toFixed(6)];
  });
  return [heading, ...rows].map((cells) => `${cells.map(quoted).join(',')}\n`).join('');
}

/** The numbers of tokens in a test's name: prompt, generated, and before them. */
function shapeOf(test: string): number[] {
  return [/pp(\d+)/, /tg(\d+)/, /@ d(\d+)/].map((pattern) => Number(pattern.exec(test)?.[1] ?? 0));
}

function samplesOf({ all }: BenchmarkResult): { mean: number; deviation: number } {
  const mean = all.reduce((sum, value) => sum + value, 0) / all.length;
  const squares = all.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return { mean, deviation: all.length > 1 ? Math.sqrt(squares / (all.length - 1)) : 0 };
}

function quoted(cell: string | number): string {
  return `"${String(cell).replaceAll('"', '""')}"`;
}
