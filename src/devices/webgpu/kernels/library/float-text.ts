/**
 * A number as a WGSL literal of exactly its f32. JavaScript writes as many digits as tell a number from its neighbours, so that
 * every compiler reads the same one; `bitcast` of a constant is beyond some of them.
 */
export function floatText(value: number): string {
  if (Object.is(value, -0)) return '-0.0f';
  return `${Math.fround(value)}f`;
}
