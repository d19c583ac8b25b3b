/** A model's file of random weights, and tokens per second by the names of `rocmforge bench`'s tests. */
export interface SpeedRow {
  readonly modelBytes: number;
  readonly speeds: Readonly<Record<string, number>>;
  /** Of another program on the same file, where it was measured: llama.cpp. */
  readonly peer?: Readonly<Record<string, number>>;
}

/** What `bench/grid.ts` saves: the device, the day, and a row for each shape and format. */
export interface SavedGrid {
  readonly device: string;
  readonly date: string;
  readonly rows: Readonly<Record<string, SpeedRow>>;
}

/** Tests as columns, in order: a prompt, one sequence, several. */
function testsOf(rows: readonly SpeedRow[]): string[] {
  return [...new Set(rows.flatMap(({ speeds }) => Object.keys(speeds)))];
}

/** Rows of the same tests as one table. */
function tableOf(rows: readonly (readonly [string, SpeedRow])[]): string[] {
  const tests = testsOf(rows.map(([, row]) => row));
  const lines = rows.map(([name, { modelBytes, speeds, peer }]) => {
    const cells = tests.map((test) => {
      const [speed, other] = [speeds[test], peer?.[test]];
      if (speed === undefined) return '';
      return other === undefined ? speed.toFixed(0) : `${speed.toFixed(0)} (${(speed / other).toFixed(2)})`;
    });
    return `| ${[name, (modelBytes / 1e9).toFixed(2), ...cells].join(' | ')} |`;
  });
  return [`| ${['model', 'GB', ...tests].join(' | ')} |`, `|${'---|'.repeat(tests.length + 2)}`, ...lines];
}

const PEER =
  'In brackets is the ratio to llama.cpp, built for the same card, which measured the same file right after (`--peer`, bench/peer/speed.cc); it computes ternary formats (TQ) on the CPU, or not at all.';

/** The text of docs/speed.md for a saved grid. */
export function speedPage({ device, date, rows }: SavedGrid): string {
  const kinds = new Map<string, (readonly [string, SpeedRow])[]>();
  for (const [name, row] of Object.entries(rows)) {
    const kind = Object.keys(row.speeds).join();
    kinds.set(kind, [...(kinds.get(kind) ?? []), [name, row]]);
  }
  return [
    '# Speed',
    '',
    `Tokens per second on ${device}, measured on ${date} by \`npm run bench:grid -- --device cuda --save tests/fixtures/speed.json\`;`,
    '`npm run docs` makes this page of that file. Each row is a model of random weights of that shape and format, in a file of that size,',
    'measured in a process of its own by `rocmforge bench`: `pp512` is a prompt of 512 tokens, `tg64` are 64 tokens generated in one',
    'sequence, `8 x tg64` in each of 8 at once after prompts of 128 tokens. "half 8b" are 16 layers of Llama 3 8B. Formats that nobody',
    "tuned are among them; rows that were left out that day are absent. `--compare grid.json` tells each figure's ratio to a saved one.",
    ...(Object.values(rows).some(({ peer }) => peer) ? [PEER] : []),
    ...[...kinds.values()].flatMap((of) => ['', ...tableOf(of)]),
    '',
  ].join('\n');
}

/** Rows of the grid that the README shows: models that many people use. */
const SHOWN = [
  '8b q4_k_m',
  'gpt-oss-20b mxfp4',
  '30b-a3b q4_k',
  'qwen3.6 35b-a3b q4_k_m',
  'gemma 4 26b-a4b q4_k_m',
];

const BEGIN = '<!-- speed -->';
const END = '<!-- end of speed -->';

/** The README with its table of speeds as a saved grid says. */
export function withSpeed(readme: string, { device, date, rows }: SavedGrid): string {
  const shown = SHOWN.flatMap((name) => (rows[name] ? [[name, rows[name]] as const] : []));
  const [before = '', rest = ''] = readme.split(BEGIN);
  const [, after = ''] = rest.split(END);
  const lines = [
    BEGIN,
    `Tokens per second on one ${device}, ${date}, for models of random weights in the shapes of well-known ones: a prompt of 2 048 tokens, one`,
    'sequence, and 64 at once; in brackets the ratio to llama.cpp, which measured the same file on the same card right after.',
    '[docs/speed.md](docs/speed.md) has all rows, and the command that measures them and your machine.',
    '',
    ...tableOf(shown),
    END,
  ];
  return `${before}${lines.join('\n')}${after}`;
}
