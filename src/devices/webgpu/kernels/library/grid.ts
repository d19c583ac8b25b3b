/** Where a workgroup stands in a line of them (`lineGrid`). */
export const GRID = /* wgsl */ `
fn group_of(group: vec3<u32>, groups: vec3<u32>) -> u32 { return group.y * groups.x + group.x; }
`;
