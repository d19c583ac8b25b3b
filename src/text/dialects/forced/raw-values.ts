import { type Regex, type Rule, searchRegex } from '../../../grammar/index.ts';
import { isSchema, type Parameters } from '../parameters.ts';
import { type Field, jsonRule, refuse } from './fields.ts';
import { ANY_CHARACTER, ANY_TEXT, choice, regex, without } from './rules.ts';

/** A bare string must not contain this, because it would be parsed differently. */
const CDATA = '<![CDATA[';
/** Keywords that do not constrain a string. */
const ANNOTATIONS = new Set([
  'type',
  'title',
  'description',
  'default',
  'examples',
  'format',
  'deprecated',
  'readOnly',
  'writeOnly',
  '$comment',
  'contentEncoding',
  'contentMediaType',
]);
const JSON_TYPES = ['object', 'array', 'number', 'boolean', 'null'];

/**
 * A value written as bare text up to a marker: strings literally, everything else as JSON. Throws `SCHEMA_UNSUPPORTED`
 * when strings have constraints that bare text cannot be held to.
 */
export function bareRule(parameters: Parameters, field: Field, close: string): Rule {
  const { mayBeString, types } = parameters.kindOfSchema(field.schema);
  if (mayBeString && types?.size === 0) return stringRule(parameters, field, close);
  if (!mayBeString) return jsonRule(parameters, field.schema);
  const json = jsonRule(parameters, field.schema, types ? [...types] : JSON_TYPES);
  const word = wordRule(parameters.resolve(field.schema), close);
  return word ? choice(json, word) : json;
}

/** A bare string for a schema that allows only strings. */
export function stringRule(parameters: Parameters, field: Field, close: string): Rule {
  const schema = parameters.resolve(field.schema);
  if (!isSchema(schema)) return regex(plain(close));
  const parts: Regex[] = [plain(close)];
  for (const [keyword, value] of Object.entries(schema)) {
    if (keyword === 'const') parts.push({ kind: 'text', text: String(value) });
    else if (keyword === 'enum' && Array.isArray(value)) {
      const strings = value.filter((one) => typeof one === 'string');
      parts.push({ kind: 'choice', parts: strings.map((one): Regex => ({ kind: 'text', text: one })) });
    } else if (keyword === 'pattern' && typeof value === 'string') parts.push(searchRegex(value));
    else if (keyword === 'minLength' || keyword === 'maxLength') continue;
    else if (!ANNOTATIONS.has(keyword)) {
      refuse(
        keyword,
        `/properties/${field.name}`,
        'a string that is written without quotes is not held to it',
      );
    }
  }
  const { minLength: min = 0, maxLength: max = Number.POSITIVE_INFINITY } = schema as {
    minLength?: number;
    maxLength?: number;
  };
  if (min > 0 || max !== Number.POSITIVE_INFINITY) {
    parts.push({ kind: 'repeat', part: ANY_CHARACTER, min, max });
  }
  return regex({ kind: 'both', parts });
}

/** True for a schema that does not constrain strings. */
export function isUnconstrained(schema: unknown): boolean {
  if (schema === undefined || schema === true) return true;
  return isSchema(schema) && Object.keys(schema).every((keyword) => ANNOTATIONS.has(keyword));
}

/** Text up to the closing marker that is not CDATA. */
function plain(close: string): Regex {
  return without([close, CDATA]);
}

/**
 * A bare string where other types are allowed too: it begins with a letter and is not a JSON literal, provided the
 * schema does not constrain strings.
 */
function wordRule(schema: unknown, close: string): Rule | undefined {
  if (!isUnconstrained(schema)) return undefined;
  const words = ['true', 'false', 'null'].map((word): Regex => ({ kind: 'text', text: word }));
  const isWord: Regex = {
    kind: 'sequence',
    parts: [{ kind: 'choice', parts: words }, SPACES],
  };
  const letter: Regex = {
    kind: 'set',
    ranges: [
      [0x41, 0x5a],
      [0x61, 0x7a],
    ],
  };
  const begun: Regex = { kind: 'sequence', parts: [letter, ANY_TEXT] };
  return regex({ kind: 'both', parts: [plain(close), begun, { kind: 'not', part: isWord }] });
}

const SPACES: Regex = {
  kind: 'repeat',
  part: {
    kind: 'set',
    ranges: [
      [9, 13],
      [32, 32],
      [0xa0, 0xa0],
      [0x1680, 0x1680],
      [0x2000, 0x200a],
      [0x2028, 0x2029],
      [0x202f, 0x202f],
      [0x205f, 0x205f],
      [0x3000, 0x3000],
      [0xfeff, 0xfeff],
    ],
  },
  min: 0,
  max: Number.POSITIVE_INFINITY,
};
