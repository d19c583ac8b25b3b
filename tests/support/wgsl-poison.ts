/** Of a text from `from` on: what comes before `end`, outside of brackets. */
function untilEnd(text: string, from: number, end: string): string {
  let depth = 0;
  for (let at = from; at < text.length; at++) {
    const char = text[at] as string;
    if (depth === 0 && char === end) return text.slice(from, at).trim();
    if ('<('.includes(char)) depth++;
    if ('>)'.includes(char)) depth--;
  }
  return text.slice(from).trim();
}

/** The parts between a text's commas, outside of brackets. */
function partsOf(text: string): string[] {
  const parts: string[] = [];
  for (let at = 0; at < text.length;) {
    const part = untilEnd(text, at, ',');
    at = text.indexOf(part, at) + part.length + 1;
    if (part !== '') parts.push(part);
  }
  return parts;
}

/** Texts of garbage of a module's types: NaN as a float, and no place of any buffer. */
class Garbage {
  readonly #code: string;

  constructor(code: string) {
    this.#code = code;
  }

  #resolved(type: string): string {
    return new RegExp(`alias ${type} = ([^;]+);`).exec(this.#code)?.[1] ?? type;
  }

  #value(name: string): string {
    const type = this.#resolved(name);
    if (type === 'u32') return 'garbage';
    if (type === 'f32' || type === 'i32') return `bitcast<${type}>(garbage)`;
    const vector = /^vec\d<(\w+)>$/.exec(type)?.[1];
    if (vector !== undefined) return `${type}(${this.#value(vector)})`;
    const fields = new RegExp(`struct ${type} \\{([^}]*)\\}`).exec(this.#code)?.[1];
    if (fields === undefined) throw new Error(`there is no garbage of ${name}`);
    const values = partsOf(fields).map((field) => this.#value(field.slice(field.indexOf(':') + 1).trim()));
    return `${type}(${values.join(', ')})`;
  }

  /** Statements that fill a variable of workgroup memory, a share by each of 32 threads. */
  fill(place: string, name: string, thread: string): string {
    const type = this.#resolved(name);
    const atomic = /^atomic<(\w+)>$/.exec(type)?.[1];
    if (atomic !== undefined) return `atomicStore(&${place}, ${this.#value(atomic)});`;
    if (!type.startsWith('array<')) return `${place} = ${this.#value(type)};`;
    const [element = '', count = ''] = partsOf(type.slice('array<'.length, -1));
    const inner = this.fill(`${place}[i]`, element, '0u');
    return `for (var i = ${thread}; i < u32(${count}); i += 32u) { ${inner} }`;
  }
}

/**
 * The module with garbage in its workgroup memory when a workgroup begins, as it may be where nobody clears it: our kernels write there
 * before they read, so that Dawn need not (`src/node/open-webgpu.ts`).
 */
export function poisonWorkgroups(code: string): string {
  const garbage = new Garbage(code);
  const start = code.indexOf('fn main(');
  const [head = '', ...body] = code.slice(start).split('{');
  const known = /@builtin\(local_invocation_index\) (\w+): u32/.exec(head)?.[1];
  const thread = known ?? 'poisoning_thread';
  const fills = Array.from(code.matchAll(/var<workgroup> (\w+): /g), ({ 0: text, 1: name = '', index }) =>
    garbage.fill(name, untilEnd(code, index + text.length, ';'), thread),
  );
  if (fills.length === 0) return code;
  const parameter = `@builtin(local_invocation_index) ${thread}: u32`;
  return [
    code.slice(0, start),
    known
      ? head
      : head.replace(/(\(?)\s*\)\s*$/, (_, first: string) => `${first === '' ? ', ' : '('}${parameter}) `),
    // Not a constant, as which it could be no NaN.
    `{ { let garbage = 0xffffdeadu ^ (${thread} & 0u);`,
    `if (${thread} < 32u) { ${fills.join('\n')} } workgroupBarrier(); }`,
    body.join('{'),
  ].join('\n');
}
