/** One kind of failure, as far as the page shows it. */
interface ShownEntry {
  readonly status: number;
  readonly summary: string;
  readonly fix: string;
}

/** The text of docs/errors.md for a catalogue of errors. */
export function errorsPage(catalogue: Readonly<Record<string, ShownEntry>>): string {
  const rows = Object.entries(catalogue)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([code, { status, summary, fix }]) => `| \`${code}\` | ${status} | ${summary} | ${fix} |`);
  return [
    '# Errors',
    '',
    'Every failure is a `RocmforgeError` with a `code` of this list, a message that says what was found and what was',
    'expected, the same facts as data in `params`, and `fix`: what to do. This page is written by `npm run docs` from the',
    'catalogue in `src/base/errors/`.',
    '',
    '| code | HTTP status | what happened | what to do |',
    '|---|---|---|---|',
    ...rows,
    '',
  ].join('\n');
}
