/** What a text has to declare before it may use names of it. */
export type Extension = 'subgroup-matrices' | 'subgroups' | 'f16';

/** WGSL declarations, with the extensions that they use. */
export interface ExtendedText {
  readonly text: string;
  readonly uses: readonly Extension[];
}

/** A piece of a kernel: declarations of which several make a module. */
export type Wgsl = string | ExtendedText;

/** Directives, in the order in which they stand before a module's declarations. */
const DIRECTIVES: Readonly<Record<Extension, readonly string[]>> = {
  'subgroup-matrices': [
    // It is up to us that subgroups stay together, as the analysis does not see.
    'diagnostic(off, chromium.subgroup_matrix_uniformity);',
    'enable chromium_experimental_subgroup_matrix;',
  ],
  subgroups: ['enable subgroups;'],
  f16: ['enable f16;'],
};

/** The pieces as one text, each of them once, after the directives for what they use; `declared` comes between. */
export function joinWgsl(pieces: readonly Wgsl[], declared: readonly string[]): string {
  const extended = pieces.map((piece) => (typeof piece === 'string' ? { text: piece, uses: [] } : piece));
  const used = new Set(extended.flatMap(({ uses }) => uses));
  const directives = (Object.keys(DIRECTIVES) as Extension[]).filter((extension) => used.has(extension));
  return [
    ...directives.flatMap((extension) => DIRECTIVES[extension]),
    ...declared,
    ...new Set(extended.map(({ text }) => text)),
  ].join('\n');
}
