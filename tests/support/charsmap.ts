interface Node {
  readonly children: Map<number, Node>;
  value?: number;
}

/**
 * Compiles normalization rules into the format of `tokenizer.ggml.precompiled_charsmap`: a node's children are at base
 * XOR label, and its value, if any, at the base itself.
 */
export function buildCharsmap(rules: readonly (readonly [string, string])[]): number[] {
  const encoder = new TextEncoder();
  const root: Node = { children: new Map() };
  const strings: number[] = [];
  for (const [from, to] of rules) {
    let node = root;
    for (const byte of encoder.encode(from)) {
      const next = node.children.get(byte) ?? { children: new Map() };
      node.children.set(byte, next);
      node = next;
    }
    node.value = strings.length;
    strings.push(...encoder.encode(to), 0);
  }
  const units = new Uint32Array(1 << 14);
  let block = 1;
  const place = (node: Node, at: number, label: number) => {
    // A block of 256 units per node: wasteful, but children never collide.
    const base = 256 * block++;
    units[at] = ((base ^ at) << 10) | label | (node.value === undefined ? 0 : 0x100);
    if (node.value !== undefined) units[base] = (node.value | 0x80000000) >>> 0;
    for (const [byte, child] of node.children) place(child, base ^ byte, byte);
  };
  place(root, 0, 0);
  const table = units.subarray(0, 256 * block);
  const header = new Uint8Array(new Uint32Array([table.byteLength]).buffer);
  return [...header, ...new Uint8Array(table.buffer, 0, table.byteLength), ...strings];
}
