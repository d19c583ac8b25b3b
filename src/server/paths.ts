/** Values of paths that may contain slashes, as names of models do. */
const WITH_SLASHES: ReadonlySet<string> = new Set(['model']);

function valuePattern(name: string): string {
  return WITH_SLASHES.has(name) ? '.+' : '[^/]+';
}

/** An endpoint's path as the router writes it. */
export function routeOf(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => `:${name}{${valuePattern(name)}}`);
}

/** The pattern of an endpoint's path, with its values by name. */
export function patternOf(path: string): RegExp {
  const values = path
    .replaceAll('.', '\\.')
    .replaceAll(/\{(\w+)\}/g, (_, name: string) => `(?<${name}>${valuePattern(name)})`);
  return new RegExp(`^${values}$`);
}

/** A value of the path of a request: `/v1/files/{file_id}` has `file_id`. */
export function pathValue(
  { request, endpoint }: { readonly request: Request; readonly endpoint: { readonly path: string } },
  name: string,
): string {
  const value = patternOf(endpoint.path).exec(new URL(request.url).pathname)?.groups?.[name] ?? '';
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}
