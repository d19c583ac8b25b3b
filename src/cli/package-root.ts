/** The folder of package.json, seen from the compiled file in dist/src/cli. */
export const PACKAGE_ROOT = new URL('../../../', import.meta.url);
