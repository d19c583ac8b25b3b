/** The dot product of `a` with as many elements of `b` from `start` on. */
export function dot(a: Float64Array, b: Float64Array, start = 0): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += (a[i] as number) * (b[start + i] as number);
  return sum;
}
