import type { LoadTrace } from '../../src/load/load-trace.ts';

const WIDTH = 1200;
const ROW = 18;
const LEFT = 90;
const COLOURS: Readonly<Record<string, string>> = {
  reader: '#4c78a8',
  decoder: '#f58518',
  stream: '#54a24b',
  repack: '#b279a2',
  compute: '#e45756',
};

/** Draws a trace: a line for each reader, decoder and stream, with time from left to right. */
export function timelineSvg(trace: LoadTrace): string {
  const { rows, spans } = trace;
  const start = Math.min(...spans.map(({ begin }) => begin));
  const end = Math.max(...spans.map((span) => span.end));
  const x = (time: number) => LEFT + ((time - start) / (end - start)) * (WIDTH - LEFT - 10);
  const labels = rows.map((row, i) => `<text x="4" y="${(i + 1) * ROW - 5}">${row}</text>`);
  const boxes = spans.map(({ row, begin, end: until, name }) => {
    const [kind = ''] = row.split(' ');
    const at = x(begin).toFixed(2);
    const width = Math.max(0.3, x(until) - x(begin)).toFixed(2);
    const place = `x="${at}" y="${rows.indexOf(row) * ROW + 2}" width="${width}" height="${ROW - 4}"`;
    return `<rect ${place} fill="${COLOURS[kind] ?? '#999'}"><title>${name}</title></rect>`;
  });
  const height = rows.length * ROW + 20;
  const scale = `<text x="${LEFT}" y="${height - 4}">0 ms</text><text x="${WIDTH - 80}" y="${height - 4}">${(end - start).toFixed(1)} ms</text>`;
  const style = '<style>text{font:12px sans-serif}</style>';
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}">${style}${labels.join('')}${boxes.join('')}${scale}</svg>\n`;
}

/** How busy the rows of a kind were between their first and their last byte, as fractions of that time. */
export interface BusyShares {
  /** The fraction in which any of them was active. */
  readonly any: number;
  /** The mean fraction in which each was active. */
  readonly each: number;
}

/** How busy the rows of a kind were. */
export function busyShares(trace: LoadTrace, kind: string): BusyShares {
  const spans = trace.spans.filter(({ row }) => row.startsWith(kind)).sort((a, b) => a.begin - b.begin);
  const [first] = spans;
  if (!first) return { any: 0, each: 0 };
  let busy = 0;
  let reached = first.begin;
  for (const { begin, end } of spans) {
    busy += Math.max(0, end - Math.max(begin, reached));
    reached = Math.max(reached, end);
  }
  const rows = new Set(spans.map(({ row }) => row)).size;
  const sum = spans.reduce((total, { begin, end }) => total + end - begin, 0);
  const whole = reached - first.begin;
  return { any: busy / whole, each: sum / rows / whole };
}
