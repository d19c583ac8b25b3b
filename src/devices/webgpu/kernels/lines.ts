/**
 * What a matrix-vector kernel multiplies: the batch's rows, a choice of a row, or of a row that chooses all matrices in their order (a head),
 * or all choices of a row, whose results are added up.
 */
export type LineKind = 'batch' | 'choice' | 'head' | 'added';

const BATCH = /* wgsl */ `
fn rows_of_unit(unit: u32) -> u32 { return min(u32(counts[COUNT]), ROWS); }
fn begin(unit: u32) {}
fn activation_row(r: u32) -> u32 { return min(r, CAPACITY - 1u); }
fn output_row(r: u32) -> u32 { return r; }
fn is_held(n: u32) -> bool { return true; }
`;

/** Some rows of the weights may lie in other chunks: those before `FIRST_LINE`, and those after `CHUNK_LINES` more. */
const choiceText = (expert: string): string => /* wgsl */ `
var<private> choice: u32;
fn rows_of_unit(unit: u32) -> u32 { return u32(unit < u32(counts[COUNT]) * TOP_K); }
fn begin(unit: u32) { choice = unit; }
fn activation_row(r: u32) -> u32 { return choice / CHOICES_PER_ROW; }
fn output_row(r: u32) -> u32 { return choice; }
fn whole_row(line: u32) -> u32 {
  let expert = ${expert};
  return (line / EXPERT_ROWS * EXPERTS + expert) * EXPERT_ROWS + line % EXPERT_ROWS;
}
fn is_held(n: u32) -> bool {
  let row = whole_row(n);
  return row >= FIRST_LINE && row - FIRST_LINE < CHUNK_LINES;
}
fn line_row(line: u32) -> u32 {
  let row = whole_row(line);
  return select(0u, row - FIRST_LINE, row >= FIRST_LINE && row - FIRST_LINE < CHUNK_LINES);
}
`;

const CHOICE = choiceText('min(u32(experts[choice]), EXPERTS - 1u)');

const HEAD = choiceText('choice % EXPERTS');

const ADDED = /* wgsl */ `
var<private> own: u32;
fn rows_of_unit(unit: u32) -> u32 { return u32(unit < u32(counts[COUNT])); }
fn begin(unit: u32) { own = unit; }
fn activation_row(r: u32) -> u32 { return own * TOP_K; }
fn output_row(r: u32) -> u32 { return own; }
fn is_held(n: u32) -> bool { return true; }
fn line_row(line: u32, choice: u32) -> u32 {
  return min(u32(experts[own * TOP_K + choice]), EXPERTS - 1u) * EXPERT_ROWS + line;
}
`;

/** Where a group or a quad of a line lies, in weights of each kind. */
const PACKED_LINES: Readonly<Record<Exclude<LineKind, 'head'>, string>> = {
  batch: /* wgsl */ `
const LINE_GROUPS = GROUPS;
fn line_group(line: u32, g: u32) -> u32 { return line * GROUPS + g; }
`,
  choice: /* wgsl */ `
const LINE_GROUPS = GROUPS;
fn line_group(line: u32, g: u32) -> u32 { return line_row(line) * GROUPS + g; }
`,
  added: /* wgsl */ `
const LINE_GROUPS = TOP_K * GROUPS;
fn line_group(line: u32, g: u32) -> u32 { return line_row(line, g / GROUPS) * GROUPS + g % GROUPS; }
`,
};

const DENSE_LINES: typeof PACKED_LINES = {
  batch: /* wgsl */ `
const LINE_QUADS = QUADS;
fn line_weight4(line: u32, k: u32) -> vec4<f32> { return weight4(line, k); }
`,
  choice: /* wgsl */ `
const LINE_QUADS = QUADS;
fn line_weight4(line: u32, k: u32) -> vec4<f32> { return weight4(line_row(line), k); }
`,
  added: /* wgsl */ `
const LINE_QUADS = TOP_K * QUADS;
fn line_weight4(line: u32, k: u32) -> vec4<f32> { return weight4(line_row(line, k / QUADS), k % QUADS); }
`,
};

/**
 * `rows_of_unit` tells how many rows of results a workgroup has, by its place down the grid, and `begin` notes that; `activation_row` and `output_row`
 * where they come from and go to; `line_group` or `line_weight4` where what lies along a line of the weights is; `is_held` whether
 * an output is this launch's.
 */
export function linesTexts(kind: LineKind, packed: boolean): readonly string[] {
  const rows = { batch: BATCH, choice: CHOICE, head: HEAD, added: ADDED };
  return [rows[kind], (packed ? PACKED_LINES : DENSE_LINES)[kind === 'head' ? 'choice' : kind]];
}
