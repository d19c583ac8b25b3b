/** The object that a text in JSON stands for, an empty one if there is none; undefined if it is no object. */
export function objectIn(written: string): Record<string, unknown> | undefined {
  if (written.trim() === '') return {};
  try {
    const value: unknown = JSON.parse(written);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
