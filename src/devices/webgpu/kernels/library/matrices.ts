import type { Wgsl } from './wgsl.ts';

/**
 * Matrices on the GPU's own units, out of lines of `tile` that are `line` vectors apart: `left_at` and `right_at` take lines along
 * which the depth runs, `right_rows_at` lines along which the outputs do. `multiplied` adds a product to sums, which `store_sums`
 * writes as f32. `lane` is the thread's place in its subgroup, all of which does the same.
 */
export const SUBGROUP_MATRICES: Wgsl = {
  uses: ['subgroup-matrices', 'subgroups', 'f16'],
  text: /* wgsl */ `
alias Left = subgroup_matrix_left<f16, MATRIX_DEPTH, MATRIX_ROWS>;
alias Right = subgroup_matrix_right<f16, MATRIX_OUTPUTS, MATRIX_DEPTH>;
alias Sums = subgroup_matrix_result<f32, MATRIX_OUTPUTS, MATRIX_ROWS>;

fn left_at(place: u32, line: u32, lane: u32) -> Left { return subgroupMatrixLoad<Left, row_major>(&tile, place, line); }
fn right_at(place: u32, line: u32) -> Right { return subgroupMatrixLoad<Right, col_major>(&tile, place, line); }
fn right_rows_at(place: u32, line: u32) -> Right { return subgroupMatrixLoad<Right, row_major>(&tile, place, line); }
fn multiplied(left: Left, right: Right, sums: Sums, lane: u32) -> Sums {
  return subgroupMatrixMultiplyAccumulate(left, right, sums);
}
fn store_sums(place: u32, line: u32, sums: Sums, lane: u32) {
  subgroupMatrixStore<row_major>(&tile, place, sums, line);
}
`,
};
