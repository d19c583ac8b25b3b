import { TrustedText } from '../../jinja/index.ts';
import { joinTexts, type TemplateText } from '../template-text.ts';
import type {
  FunctionCalls,
  KeyEnd,
  NamedCalls,
  ObjectCalls,
  ObjectsWritten,
  ParameterCalls,
} from './call-forms.ts';
import { membersOf } from './json-members.ts';

/** A call made by a model, or an example of one. */
export interface WrittenCall {
  readonly name: string;
  /** A JSON object. */
  readonly arguments: string;
  readonly id?: string | undefined;
}

/** Writes calls as the dialect's models do; the markers count as the template's own text. */
export type CallWriter = (calls: readonly WrittenCall[]) => TemplateText;

const LINE = '\n';
const quoted = (text: string) => JSON.stringify(text);
const marker = (text: string) => new TrustedText(text);

/** Calls that are JSON objects. */
export function writeObjectCalls(form: ObjectCalls, calls: readonly WrittenCall[]): TemplateText {
  const { written = {}, close } = form;
  const { padding = '', isList } = written;
  // A marker that includes the beginning of the object is not written.
  const open = form.open.find((one) => !one.includes('{')) ?? '';
  const objects = calls.map((call, i) =>
    form.isKeyed ? `{${quoted(call.name)}: ${call.arguments}}` : objectOf(call, written, i),
  );
  const behind = close === undefined ? [] : [padding, marker(close)];
  const enclosed = (text: string) => joinTexts([marker(open), padding, text, ...behind]);
  if (isList) return enclosed(`[${objects.join(', ')}]`);
  return joinTexts(objects.map(enclosed), open === '' ? '; ' : LINE);
}

function objectOf(call: WrittenCall, { keys, id }: ObjectsWritten, index: number): string {
  const { name = 'name', arguments: given = 'arguments' } = keys ?? {};
  const members = [`${quoted(name)}: ${quoted(call.name)}`, `${quoted(given)}: ${call.arguments}`];
  const value = id?.length === 'number' ? String(index) : call.id;
  if (id && value !== undefined) {
    const member = `${quoted(id.key)}: ${quoted(value)}`;
    if (id.isFirst) members.unshift(member);
    else members.push(member);
  }
  return `{${members.join(', ')}}`;
}

/** Calls written as a name and a JSON object. */
export function writeNamedCalls(form: NamedCalls, calls: readonly WrittenCall[]): TemplateText {
  const { section, open, type = '', between, written = {}, close = '' } = form;
  const all = calls.map((call, i) =>
    joinTexts([
      marker(open + type),
      headOf(form, call, i),
      marker(written.before ?? between[0] ?? ''),
      call.arguments,
      marker((written.behind ?? '') + close),
    ]),
  );
  const text = joinTexts(all, section ? '' : LINE);
  return section ? joinTexts([marker(section.open), text, marker(section.close)]) : text;
}

function headOf({ id, isNumbered }: NamedCalls, call: WrittenCall, index: number): TemplateText {
  if (isNumbered) return `functions.${call.name}:${index}`;
  if (!id) return call.name;
  if (id.isFirst) return joinTexts([call.id ?? `call${index}`, marker(id.mark), call.name]);
  return call.id === undefined ? call.name : joinTexts([call.name, marker(id.mark), call.id]);
}

/** Calls whose parameters are written separately between markers. */
export function writeParameterCalls(form: ParameterCalls, calls: readonly WrittenCall[]): TemplateText {
  const { section, call: around } = form;
  const [end = ''] = around.nameEnds;
  const all = calls.map((call, i) => {
    const number = around.number;
    const behind = number ? end + number.open + String(i + 1) + number.close : end;
    const fields = [...membersOf(call.arguments)].map(([key, value]) => fieldOf(form, key, value));
    return joinTexts([
      marker(around.open),
      call.name,
      marker(behind.endsWith(LINE) ? behind : behind + LINE),
      ...fields,
      marker(around.close),
    ]);
  });
  if (!section) return joinTexts(all, LINE);
  const enclosed = (text: TemplateText) =>
    joinTexts([marker(section.open), LINE, text, LINE, marker(section.close)]);
  return section.isOfOne ? joinTexts(all.map(enclosed), LINE) : enclosed(joinTexts(all, LINE));
}

function fieldOf({ parameter }: ParameterCalls, key: string, value: string): TemplateText {
  const { open, keyEnds, valueOpen, close, isOnLines } = parameter;
  const text = stringOf(value);
  const line = isOnLines ? LINE : '';
  return joinTexts([
    marker(open),
    key,
    marker(keyEndFor(keyEnds, value).mark),
    ...(valueOpen === undefined ? [] : [LINE, marker(valueOpen)]),
    line,
    text ?? value,
    line,
    marker(close),
    LINE,
  ]);
}

/** The key's end marker that matches the kind of this JSON value. */
function keyEndFor(ends: readonly KeyEnd[], value: string): KeyEnd {
  const isString = stringOf(value) !== undefined;
  const type = typeOf(value);
  const found = ends.find((end) => end.type === type) ?? ends.find((end) => end.isString === isString);
  return found ?? (ends[0] as KeyEnd);
}

function typeOf(value: string): string {
  const parsed: unknown = JSON.parse(value);
  return parsed === null ? 'null' : Array.isArray(parsed) ? 'array' : typeof parsed;
}

/** The value of a JSON text that is a string. */
function stringOf(value: string): string | undefined {
  const parsed: unknown = value.startsWith('"') ? JSON.parse(value) : undefined;
  return typeof parsed === 'string' ? parsed : undefined;
}

/** Calls in the syntax of a programming language. */
export function writeFunctionCalls(form: FunctionCalls, calls: readonly WrittenCall[]): TemplateText {
  const { bracket, separator, prefix = '', close, isList } = form;
  const [open = ''] = form.open;
  const all = calls.map((call) => {
    const fields = [...membersOf(call.arguments)].map(([key, value]) =>
      joinTexts([key + separator, literalOf(form, value)]),
    );
    const list = joinTexts(fields, bracket === '(' ? ', ' : ',');
    return joinTexts([prefix + call.name + bracket, list, bracket === '(' ? ')' : '}']);
  });
  const enclosed = (text: TemplateText) => joinTexts([marker(open), text, marker(close)]);
  if (isList) return enclosed(joinTexts(['[', joinTexts(all, ', '), ']']));
  return joinTexts(all.map(enclosed), LINE);
}

const PYTHON: Readonly<Record<string, string>> = { true: 'True', false: 'False', null: 'None' };

function literalOf({ quote, bracket }: FunctionCalls, value: string): TemplateText {
  const text = quote === undefined ? undefined : stringOf(value);
  if (quote !== undefined && text !== undefined) return joinTexts([marker(quote), text, marker(quote)]);
  return bracket === '(' ? (PYTHON[value] ?? value) : value;
}

/** Calls in which every tag is preceded by a token; objects and lists are written as JSON. */
export function writeNestedTagCalls(token: string, calls: readonly WrittenCall[]): TemplateText {
  const tag = (...inside: readonly TemplateText[]) => joinTexts([marker(token), '<', ...inside, '>']);
  const all = calls.map((call) => {
    const fields = [...membersOf(call.arguments)].map(([key, value]) =>
      joinTexts([tag(key), stringOf(value) ?? value, tag(`/${key}`)]),
    );
    return joinTexts([tag(`invoke name="${call.name}"`), ...fields, tag('/invoke')]);
  });
  return joinTexts([tag('tool_call'), LINE, joinTexts(all, LINE), LINE, tag('/tool_call')]);
}
