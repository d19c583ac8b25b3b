/** A column: its heading, and whether its cells are numbers. */
export type Column = readonly [heading: string, align: 'left' | 'right'];

/** Lines of aligned cells, two spaces between columns. */
export function tableText(columns: readonly Column[], rows: readonly (readonly string[])[]): string {
  const lines = [columns.map(([heading]) => heading), ...rows];
  const widths = columns.map((_, i) => Math.max(...lines.map((cells) => cells[i]?.length ?? 0)));
  const text = lines.map((cells) =>
    columns
      .map(([, align], i) => {
        const [cell, width] = [cells[i] ?? '', widths[i] ?? 0];
        return align === 'right' ? cell.padStart(width) : cell.padEnd(width);
      })
      .join('  ')
      .trimEnd(),
  );
  return `${text.join('\n')}\n`;
}

/** Text from a file on one line: control characters could affect the terminal. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029]/gu, (character) => {
    const short = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }[character];
    return short ?? `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}
