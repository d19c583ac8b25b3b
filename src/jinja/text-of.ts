import { raise } from './jinja-error.ts';
import { floatText, intText } from './number-text.ts';
import { addMapped, Str, StrBuilder } from './str.ts';
import {
  Builtin,
  type Context,
  Dict,
  DictView,
  iterate,
  List,
  Namespace,
  PyObject,
  Range,
  Tuple,
  typeName,
  Undefined,
  type Value,
} from './values.ts';

const UNPRINTABLE = /[^\P{C} ]|[^\P{Z} ]/u;
const NEEDS_ESCAPE = /[\\']|[^\P{C} ]|[^\P{Z} ]/u;
const NAMED: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t', '\\': '\\\\' };

/** Python's `str`. Numbers count as the template's text: their digits cannot express arbitrary input. */
export function textOf(value: Value, context: Context): Str {
  if (value instanceof Str) return value;
  const scalar = scalarText(value);
  return scalar === undefined ? repr(value, context) : Str.written(scalar);
}

function scalarText(value: Value): string | undefined {
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (typeof value === 'bigint') return intText(value);
  if (typeof value === 'number') return floatText(value);
  return value instanceof Undefined ? '' : undefined;
}

/** Python's `repr`. The syntax that it writes around input strings counts as input. */
export function repr(value: Value, context: Context): Str {
  const builder = new StrBuilder(context.budget);
  addRepr(value, builder, context);
  return builder.done();
}

function addRepr(value: Value, out: StrBuilder, context: Context): void {
  if (value instanceof Str) return addStringRepr(value, out);
  if (value instanceof Undefined) return void out.addText('Undefined', false);
  if (!(value instanceof PyObject)) return void out.addText(scalarText(value) as string, false);
  context.budget.enter();
  if (value instanceof List) addItems('[', value, ']', out, context);
  else if (value instanceof Tuple) addItems('(', value, value.items.length === 1 ? ',)' : ')', out, context);
  else if (value instanceof Dict) addDict(value, out, context);
  else if (value instanceof DictView) addItems(`${value.typeName}([`, value, '])', out, context);
  else if (value instanceof Namespace) {
    out.addText('<Namespace ', false);
    const attributes = [...value.attributes].map(([name, item]) => [Str.outside(name), item] as const);
    addDict(new Dict(attributes), out, context);
    out.addText('>', false);
  } else out.addText(opaqueText(value), false);
  context.budget.leave();
}

function opaqueText(value: PyObject): string {
  if (value instanceof Range) {
    const { start, stop, step } = value;
    return `range(${start}, ${stop}${step === 1n ? '' : `, ${step}`})`;
  }
  if (value instanceof Builtin) return `<built-in method ${value.name}>`;
  return value.describe();
}

function addItems(open: string, value: PyObject, close: string, out: StrBuilder, context: Context): void {
  out.addText(open, false);
  let first = true;
  for (const item of iterate(value, context)) {
    if (!first) out.addText(', ', false);
    first = false;
    addRepr(item, out, context);
  }
  out.addText(close, false);
}

function addDict(dict: Dict, out: StrBuilder, context: Context): void {
  out.addText('{', false);
  let first = true;
  for (const [key, value] of dict.pairs()) {
    context.budget.spend();
    if (!first) out.addText(', ', false);
    first = false;
    addRepr(key, out, context);
    out.addText(': ', false);
    addRepr(value, out, context);
  }
  out.addText('}', false);
}

function addStringRepr(str: Str, out: StrBuilder): void {
  const { text } = str;
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  out.addText(str.safe ? `Markup(${quote}` : quote, false);
  if (NEEDS_ESCAPE.test(text)) addMapped(out, str, (point) => escapedPoint(point, quote));
  else out.add(str);
  out.addText(str.safe ? `${quote})` : quote, false);
}

function escapedPoint(point: string, quote: string): string {
  if (point === quote) return `\\${quote}`;
  const named = NAMED[point];
  if (named !== undefined) return named;
  if (!UNPRINTABLE.test(point)) return point;
  const code = point.codePointAt(0) as number;
  const hex = code.toString(16);
  if (code < 0x100) return `\\x${hex.padStart(2, '0')}`;
  return code < 0x10000 ? `\\u${hex.padStart(4, '0')}` : `\\U${hex.padStart(8, '0')}`;
}

/** The value, which must be a string. Throws if it is undefined or has another type. */
export function requireString(value: Value, what: string): Str {
  if (value instanceof Undefined) value.fail();
  if (!(value instanceof Str)) raise(`${what}: '${typeName(value)}' object is no string`);
  return value;
}
