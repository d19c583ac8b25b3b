import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** A file of declarations as the compiler writes it: what it declares, and which names it takes from others. */
interface Module {
  /** The text of each declaration, by its name. */
  readonly own: Map<string, string>;
  readonly exported: Set<string>;
  /** Local names, and where they come from. */
  readonly imports: Map<string, Place>;
  readonly reexports: Map<string, Place & { readonly isType: boolean }>;
  /** Files all of whose exports are this one's. */
  readonly stars: string[];
}

/** A name in a file. */
export interface Place {
  readonly path: string;
  readonly name: string;
}

/** A declaration that an entry exports. */
interface Exported {
  /** The entry and the name under which it has it: `./device:Stream`. */
  readonly as: string;
  /** It can be named but not constructed: nobody sees its constructor and its static members. */
  isTypeOnly: boolean;
}

/** Reads declarations and finds what entries export of them. */
export class Declarations {
  readonly #modules = new Map<string, Module>();
  readonly #read: (path: string) => string;

  /** `read` gives the text of a file; the default is the disk's. */
  constructor(read: (path: string) => string = (path) => readFileSync(path, 'utf8')) {
    this.#read = read;
  }

  /**
   * The declarations that exported ones name and no entry exports, each with an entry and a name that leads to it. `entries`:
   * files of declarations by the name under which the package exports them.
   */
  unreachable(entries: Readonly<Record<string, string>>): string[] {
    const exported = new Map<string, Exported>();
    for (const [entry, path] of Object.entries(entries)) {
      for (const [name, { of, isType }] of this.#exportsOf(path)) {
        const known = exported.get(of);
        if (known) known.isTypeOnly &&= isType;
        else exported.set(of, { as: `${entry}:${name}`, isTypeOnly: isType });
      }
    }
    const missing = new Map<string, string>();
    for (const [id, { as, isTypeOnly }] of exported) {
      for (const named of this.#namedBy(id, isTypeOnly)) {
        if (!exported.has(named) && !missing.has(named)) missing.set(named, as);
      }
    }
    return Array.from(missing, ([id, as]) => `${as} names ${id}`).sort();
  }

  /** What a file exports, by name: where it is declared, and whether it is a type alone. */
  exportedBy(path: string): Map<string, Place & { readonly isType: boolean }> {
    const all = [...this.#exportsOf(path)].map(([name, { of, isType }]) => {
      const [from = '', own = ''] = of.split('#');
      return [name, { path: from, name: own, isType }] as const;
    });
    return new Map(all);
  }

  /** The declarations that a declaration names; of one that is a type alone, what its instances show. */
  #namedBy(id: string, isTypeOnly: boolean): string[] {
    const [path = '', name = ''] = id.split('#');
    const { own, imports } = this.#module(path);
    const hidden = isTypeOnly
      ? /^ {4}(?:private |static |constructor\()(?:.*;$|[\s\S]*?^ {4}\S.*;$)/gm
      : /^ {4}private .*$/gm;
    const shown = (own.get(name) ?? '').replaceAll(hidden, '');
    // What `typeof` names is there already, as the type that it has.
    const words = new Set(shown.replaceAll(/typeof \w+/g, '').match(/\w+/g));
    const named = [...own.keys()].filter((other) => other !== name && words.has(other));
    const places = [...imports].filter(([local]) => words.has(local)).map(([, place]) => place);
    return [
      ...named.map((other) => `${path}#${other}`),
      ...places.flatMap((place) => this.#find(place.path, place.name) ?? []),
    ];
  }

  /** What a file exports, by name: which declaration it is, as `file#name`. */
  #exportsOf(path: string): Map<string, { of: string; isType: boolean }> {
    const { own, exported, reexports, stars } = this.#module(path);
    const all = new Map(stars.flatMap((star) => [...this.#exportsOf(star)]));
    for (const name of exported) if (own.has(name)) all.set(name, { of: `${path}#${name}`, isType: false });
    for (const [name, place] of reexports) {
      const of = this.#find(place.path, place.name);
      if (of !== undefined) all.set(name, { of, isType: place.isType });
    }
    return all;
  }

  /** Where a name of a file is declared, as `file#name`; undefined for what is none of the project's. */
  #find(path: string, name: string): string | undefined {
    const { own, reexports, imports, stars } = this.#module(path);
    if (own.has(name)) return `${path}#${name}`;
    const place = reexports.get(name) ?? imports.get(name);
    if (place) return this.#find(place.path, place.name);
    for (const star of stars) {
      const found = this.#find(star, name);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  #module(path: string): Module {
    const known = this.#modules.get(path);
    if (known) return known;
    const read = readModule(path, this.#read(path));
    this.#modules.set(path, read);
    return read;
  }
}

const NAMES = /^(import|export)( type)? \{([^}]*)\} from ['"](\.[^'"]+)['"]/gm;
const STARS = /^export \* from ['"](\.[^'"]+)['"]/gm;
const LOCALS = /^export( type)? \{([^}]*)\};/gm;
const DECLARED =
  /^(export )?(?:declare )?(?:abstract )?(?:class|function|interface|type|const|let|enum) (\w+)/;

function readModule(path: string, withComments: string): Module {
  const text = withComments.replaceAll(/\/\*[\s\S]*?\*\//g, '').replaceAll(/^\/\/.*$/gm, '');
  const fileOf = (from: string) => join(dirname(path), from.replace(/\.[jt]s$/, '.d.ts'));
  const of: Module = {
    own: new Map(),
    exported: new Set(),
    imports: new Map(),
    reexports: new Map(),
    stars: Array.from(text.matchAll(STARS), ([, from = '']) => fileOf(from)),
  };
  for (const [, word, allTypes, names = '', from = ''] of text.matchAll(NAMES)) {
    for (const { name, as, isType } of namesIn(names)) {
      const place = { path: fileOf(from), name };
      if (word === 'import') of.imports.set(as, place);
      else of.reexports.set(as, { ...place, isType: isType || allTypes !== undefined });
    }
  }
  for (const [, allTypes, names = ''] of text.matchAll(LOCALS)) {
    for (const { name, as, isType } of namesIn(names)) {
      of.reexports.set(as, { path, name, isType: isType || allTypes !== undefined });
    }
  }
  let name: string | undefined;
  for (const line of text.split('\n')) {
    const [, isExported, declared] = DECLARED.exec(line) ?? [];
    if (declared !== undefined) name = declared;
    if (declared !== undefined && isExported !== undefined) of.exported.add(declared);
    if (name !== undefined && !/^(?:import|export \{)/.test(line)) {
      of.own.set(name, `${of.own.get(name) ?? ''}${line}\n`);
    }
  }
  return of;
}

function namesIn(list: string): { name: string; as: string; isType: boolean }[] {
  return list
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .map((part) => {
      const [name = '', as = name] = part.replace(/^type /, '').split(' as ');
      return { name, as, isType: part.startsWith('type ') };
    });
}
