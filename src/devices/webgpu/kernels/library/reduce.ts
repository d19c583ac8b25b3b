import type { Wgsl } from './wgsl.ts';

/** Cells that threads add up serially; more of them are first halved between barriers. */
const SERIAL_CELLS = 16;

/**
 * `NAME_sum(value, thread)` and `NAME_max(value, thread)`: over each `team` of neighbouring threads, a power of two, the result
 * in all of them; called by all threads of a workgroup of `threads` at once. Neighbours exchange values by shuffles as
 * far as every subgroup is wide, and through workgroup memory beyond that, so that it is right for subgroups of any size.
 */
export function reduceText(
  { lanes }: { readonly lanes: number },
  of: { readonly team: number; readonly threads: number; readonly name?: string },
): Wgsl {
  const { name = 'team' } = of;
  const shape = { ...of, shuffled: Math.min(lanes, of.team) };
  const text = reduction(`${name}_sum`, 'a + b', shape) + reduction(`${name}_max`, 'max(a, b)', shape);
  return shape.shuffled > 1 ? { text, uses: ['subgroups'] } : text;
}

/** Threads of a team whose sums of several rows come together by shuffles alone. */
const TEAM = 32;

/**
 * `row_sums(sums, thread)`: in thread t of each team of 32 the sum over the team of row `t % ROWS`, bit for bit that of `team_sum`, which it
 * requires; `rows` is a power of two. With shuffles, a thread hands half of its rows over to a neighbour at each step.
 */
export function rowSumsText({ lanes }: { readonly lanes: number }, rows: number): Wgsl {
  if (lanes < TEAM) {
    return /* wgsl */ `
fn row_sums(sums: array<f32, ${rows}>, thread: u32) -> f32 {
  var rows = sums;
  var own = 0.0;
  for (var r = 0u; r < ${rows}u; r++) {
    let sum = team_sum(rows[r], thread);
    if (thread % ${rows}u == r) { own = sum; }
  }
  return own;
}
`;
  }
  const steps: string[] = [];
  let names = Array.from({ length: rows }, (_, r) => `sums[${r}]`);
  let step = 1;
  for (; names.length > 1; step *= 2) {
    const next = names.slice(0, names.length / 2).map((_, i) => `sum_${step}_${i}`);
    for (const [i, name] of next.entries()) {
      const [even, odd] = [names[2 * i], names[2 * i + 1]];
      steps.push(
        `let ${name} = select(${even}, ${odd}, odd_${step}) + subgroupShuffleXor(select(${odd}, ${even}, odd_${step}), ${step}u);`,
      );
    }
    steps.splice(-next.length, 0, `let odd_${step} = (thread & ${step}u) != 0u;`);
    names = next;
  }
  const rest: string[] = [];
  for (; step < TEAM; step *= 2) rest.push(`own += subgroupShuffleXor(own, ${step}u);`);
  const text = /* wgsl */ `
fn row_sums(sums: array<f32, ${rows}>, thread: u32) -> f32 {
  ${steps.join('\n  ')}
  var own = ${names[0]};
  ${rest.join('\n  ')}
  return own;
}
`;
  return { text, uses: ['subgroups'] };
}

interface Shape {
  readonly team: number;
  readonly threads: number;
  /** Threads whose values come together by shuffles. */
  readonly shuffled: number;
}

function reduction(name: string, combined: string, { team, threads, shuffled }: Shape): string {
  const shuffles = [];
  for (let step = 1; step < shuffled; step *= 2) {
    shuffles.push(`own = combine_${name}(own, subgroupShuffleXor(own, ${step}u));`);
  }
  const cells = team / shuffled;
  return /* wgsl */ `
fn combine_${name}(a: f32, b: f32) -> f32 { return ${combined}; }
${cells > 1 ? `var<workgroup> ${name}_cells: array<f32, ${threads / shuffled}>;` : ''}
fn ${name}(value: f32, thread: u32) -> f32 {
  var own = value;
  ${shuffles.join('\n  ')}
  ${cells > 1 ? throughMemory(name, { shuffled, cells, team }) : ''}
  return own;
}
`;
}

function throughMemory(name: string, of: { shuffled: number; cells: number; team: number }): string {
  const { shuffled, cells, team } = of;
  const halvings = [];
  let left = cells;
  for (; left > SERIAL_CELLS; left /= 2) {
    halvings.push(
      `if (cell_of_team < ${left / 2}u && thread % ${shuffled}u == 0u) { ${name}_cells[cell] = combine_${name}(${name}_cells[cell], ${name}_cells[cell + ${left / 2}u]); }
  workgroupBarrier();`,
    );
  }
  return /* wgsl */ `
  let cell = thread / ${shuffled}u;
  let cell_of_team = cell % ${cells}u;
  if (thread % ${shuffled}u == 0u) { ${name}_cells[cell] = own; }
  workgroupBarrier();
  ${halvings.join('\n  ')}
  let start = thread / ${team}u * ${cells}u;
  own = ${name}_cells[start];
  for (var i = 1u; i < ${left}u; i++) { own = combine_${name}(own, ${name}_cells[start + i]); }
  workgroupBarrier();`;
}
