import { compare } from './comparison.ts';
import { raise } from './jinja-error.ts';
import { floatText, intText } from './number-text.ts';
import { Str, StrBuilder } from './str.ts';
import { type Context, Dict, List, PyObject, Tuple, typeName, type Value } from './values.ts';

/** Options for writing JSON. */
export interface JsonStyle {
  readonly ensureAscii: boolean;
  /** The indentation of each level; undefined for a single line. */
  readonly indent: string | undefined;
  readonly itemSeparator: string;
  readonly keySeparator: string;
  readonly sortKeys: boolean;
}

const ESCAPES: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\b': '\\b',
  '\f': '\\f',
};
// oxlint-disable-next-line no-control-regex
const TO_ESCAPE = /[\0-\x1f"\\]/g;
const TO_ESCAPE_IN_ASCII = /[^ !#-[\]-~]/g;

/** Python's `json.dumps`. The syntax that it writes around input strings counts as input. */
export function toJson(value: Value, style: JsonStyle, context: Context): Str {
  return new JsonWriter(style, context).run(value);
}

class JsonWriter {
  readonly #style: JsonStyle;
  readonly #context: Context;
  readonly #out: StrBuilder;
  #level = 0;

  constructor(style: JsonStyle, context: Context) {
    this.#style = style;
    this.#context = context;
    this.#out = new StrBuilder(context.budget);
  }

  run(value: Value): Str {
    this.#write(value);
    return this.#out.done();
  }

  #write(value: Value): void {
    const { budget } = this.#context;
    if (value instanceof Str) return this.#string(value);
    if (!(value instanceof PyObject)) return void this.#out.addText(scalar(value), false);
    budget.enter();
    if (value instanceof Dict) this.#dict(value);
    else if (value instanceof List || value instanceof Tuple) {
      this.#group('[', value.items, ']', (item) => this.#write(item));
    } else raise(`Object of type ${typeName(value)} is not JSON serializable`);
    budget.leave();
  }

  #dict(dict: Dict): void {
    const pairs = [...dict.pairs()];
    if (this.#style.sortKeys) pairs.sort(([a], [b]) => compare(a, b, '<', this.#context));
    this.#group('{', pairs, '}', ([key, value]) => {
      this.#string(keyText(key));
      this.#out.addText(this.#style.keySeparator, false);
      this.#write(value);
    });
  }

  #group<T>(open: string, items: readonly T[], close: string, write: (item: T) => void): void {
    this.#out.addText(open, false);
    this.#level++;
    for (const [i, item] of items.entries()) {
      if (i > 0) this.#out.addText(this.#style.itemSeparator, false);
      this.#newLine();
      write(item);
    }
    this.#level--;
    if (items.length > 0) this.#newLine();
    this.#out.addText(close, false);
  }

  #newLine(): void {
    const { indent } = this.#style;
    if (indent === undefined) return;
    this.#context.budget.checkLength(indent.length * this.#level);
    this.#out.addText(`\n${indent.repeat(this.#level)}`, false);
  }

  #string(str: Str): void {
    const { text, written } = str;
    this.#out.addText('"', false);
    let at = 0;
    for (let i = 0; i <= written.length; i += 2) {
      const start = written[i] ?? text.length;
      const end = written[i + 1] ?? text.length;
      this.#out.addText(this.#escaped(text.slice(at, start)), false);
      this.#out.addText(this.#escaped(text.slice(start, end)), true);
      at = end;
    }
    this.#out.addText('"', false);
  }

  #escaped(text: string): string {
    const pattern = this.#style.ensureAscii ? TO_ESCAPE_IN_ASCII : TO_ESCAPE;
    return text.replace(
      pattern,
      (unit) => ESCAPES[unit] ?? `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
    );
  }
}

function scalar(value: null | boolean | bigint | number): string {
  if (value === null) return 'null';
  if (typeof value === 'boolean') return String(value);
  if (typeof value === 'bigint') return intText(value);
  if (Number.isNaN(value)) return 'NaN';
  return Number.isFinite(value) ? floatText(value) : value < 0 ? '-Infinity' : 'Infinity';
}

function keyText(key: Value): Str {
  if (key instanceof Str) return key;
  if (!(key instanceof PyObject)) return Str.outside(scalar(key));
  return raise(`keys must be str, int, float, bool or None, not ${typeName(key)}`);
}
