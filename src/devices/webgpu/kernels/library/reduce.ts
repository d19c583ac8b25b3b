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
