import type { BenchResult, BenchRow } from './bench.ts';

const PREFIX = '#result=';
const LONGEST = 20_000;

/** The address of the benchmark page with a result: it stays in the address, which servers are not sent this part of. */
export function linkOf(result: BenchResult): string {
  const bytes = new TextEncoder().encode(JSON.stringify(result));
  const letters = Array.from(bytes, (byte) => String.fromCharCode(byte)).join('');
  const text = btoa(letters).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
  return new URL(`${PREFIX}${text}`, location.href).href;
}

/** The result in an address; undefined if it has none, `broken` if it is not one. */
export function resultIn(hash: string): BenchResult | 'broken' | undefined {
  if (!hash.startsWith(PREFIX)) return undefined;
  if (hash.length > LONGEST) return 'broken';
  try {
    const letters = atob(hash.slice(PREFIX.length).replaceAll('-', '+').replaceAll('_', '/'));
    const bytes = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return isResult(value) ? value : 'broken';
  } catch {
    return 'broken';
  }
}

function isResult(value: unknown): value is BenchResult {
  const { rows, agreement, peakBytes, ...of } = (value ?? {}) as Record<string, unknown>;
  const { tokens, of: all } = (agreement ?? { tokens: 0, of: 0 }) as Record<string, unknown>;
  return (
    [of['model'], of['browser']].every((text) => typeof text === 'string') &&
    [of['modelBytes'], of['plannedBytes'], of['processors'], peakBytes ?? 0, tokens, all].every(
      Number.isFinite,
    ) &&
    Array.isArray(rows) &&
    rows.every(isRow)
  );
}

function isRow(value: unknown): value is BenchRow {
  const row = (value ?? {}) as Record<string, unknown>;
  return (
    (row['device'] === 'cpu' || row['device'] === 'webgpu') &&
    [row['name'], row['test']].every((text) => typeof text === 'string') &&
    [row['mean'], row['deviation']].every(Number.isFinite)
  );
}
