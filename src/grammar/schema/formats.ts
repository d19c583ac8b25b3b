import { wholeRegex } from '../regex/pattern.ts';
import type { Regex } from '../regex/regex.ts';
import { both, ofLength } from './regexes.ts';

// ECMA-262 patterns, composed of each other.
const LEAP = '(?:\\d\\d(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)';
const DATE =
  '(?:\\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)|02-(?:0[1-9]|1\\d|2[0-8]))' +
  `|${LEAP}-02-29)`;
const OFFSET = '(?:[Zz]|[+-](?:[01]\\d|2[0-3]):[0-5]\\d)';
// A leap second is the last second of a day in UTC; equivalent times in other zones are not recognised.
const TIME = `(?:(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(?:\\.\\d{1,20})?${OFFSET}|23:59:60(?:\\.\\d{1,20})?(?:[Zz]|[+-]00:00))`;
const DURATION_TIME = 'T(?:\\d+H(?:\\d+M(?:\\d+S)?)?|\\d+M(?:\\d+S)?|\\d+S)';
const DURATION = `P(?:\\d+W|(?:\\d+D|\\d+M(?:\\d+D)?|\\d+Y(?:\\d+M(?:\\d+D)?)?)(?:${DURATION_TIME})?|${DURATION_TIME})`;
const OCTET = '(?:\\d|[1-9]\\d|1\\d\\d|2[0-4]\\d|25[0-5])';
const IPV4 = `${OCTET}(?:\\.${OCTET}){3}`;
const H16 = '[\\da-fA-F]{1,4}';
const LS32 = `(?:${H16}:${H16}|${IPV4})`;
const groupsBefore = (most: number): string =>
  most === 0 ? `(?:${H16})?` : `(?:(?:${H16}:){0,${most}}${H16})?`;
const IPV6 =
  `(?:(?:${H16}:){6}${LS32}|::(?:${H16}:){5}${LS32}|(?:${H16})?::(?:${H16}:){4}${LS32}` +
  [1, 2, 3].map((most) => `|${groupsBefore(most)}::(?:${H16}:){${4 - most}}${LS32}`).join('') +
  `|${groupsBefore(4)}::${LS32}|${groupsBefore(5)}::${H16}|${groupsBefore(6)}::)`;
const LABEL = '[A-Za-z\\d](?:[A-Za-z\\d-]{0,61}[A-Za-z\\d])?';
const HOST = `${LABEL}(?:\\.${LABEL})*`;
const ATOM = "[A-Za-z\\d!#$%&'*+/=?^_`{|}~-]+";
const LOCAL = `(?:${ATOM}(?:\\.${ATOM})*|"(?:[\\x20\\x21\\x23-\\x5b\\x5d-\\x7e]|\\\\[\\x20-\\x7e])*")`;
const EMAIL = `${LOCAL}@(?:${HOST}|\\[(?:${IPV4}|IPv6:${IPV6})\\])`;

/** URIs (RFC 3986) and, with characters beyond ASCII, IRIs (RFC 3987). */
function uri(more: string, isReference: boolean): string {
  const unreserved = `A-Za-z\\d._~\\-${more}`;
  const part = `(?:[${unreserved}!$&'()*+,;=]|%[\\da-fA-F]{2})`;
  const character = `(?:[${unreserved}!$&'()*+,;=:@]|%[\\da-fA-F]{2})`;
  const user = `(?:(?:[${unreserved}!$&'()*+,;=:]|%[\\da-fA-F]{2})*@)?`;
  const host = `(?:\\[(?:${IPV6}|[vV][\\da-fA-F]+\\.[A-Za-z\\d._~!$&'()*+,;=:-]+)\\]|${part}*)`;
  const authority = `//${user}${host}(?::\\d*)?(?:/${character}*)*`;
  const absolute = `/(?:${character}+(?:/${character}*)*)?`;
  const rootless = `${character}+(?:/${character}*)*`;
  const noScheme = `(?:[${unreserved}!$&'()*+,;=@]|%[\\da-fA-F]{2})+(?:/${character}*)*`;
  const privateUse = more === '' ? '' : '\\u{E000}-\\u{F8FF}\\u{F0000}-\\u{FFFFD}\\u{100000}-\\u{10FFFD}';
  const tail = `(?:\\?(?:${character}|[/?${privateUse}])*)?(?:#(?:${character}|[/?])*)?`;
  const full = `[A-Za-z][A-Za-z\\d+.-]*:(?:${authority}|${absolute}|${rootless})?`;
  return isReference ? `(?:${full}|(?:${authority}|${absolute}|${noScheme})?)${tail}` : `${full}${tail}`;
}

const BEYOND_ASCII =
  '\\u{A0}-\\u{D7FF}\\u{F900}-\\u{FDCF}\\u{FDF0}-\\u{FFEF}\\u{10000}-\\u{1FFFD}\\u{20000}-\\u{EFFFD}';
const POINTER = '(?:/(?:[^~/]|~[01])*)*';
const VARIABLE =
  '(?:[A-Za-z\\d_]|%[\\da-fA-F]{2})(?:\\.?(?:[A-Za-z\\d_]|%[\\da-fA-F]{2}))*(?::[1-9]\\d{0,3}|\\*)?';
const TEMPLATE = `(?:[^\\x00-\\x20"<>%\\\\^\`{|}\\x7f]|%[\\da-fA-F]{2}|\\{[+#./;?&=,!@|]?${VARIABLE}(?:,${VARIABLE})*\\})*`;

/** Patterns whose groups are nested up to this depth: unbounded nesting is not regular. */
function expression(depth: number): string {
  const escape = '\\\\(?:[dDwWsSbBtnvfr^$\\\\.*+?()\\[\\]{}|/]|c[A-Za-z]|x[\\da-fA-F]{2}|u[\\da-fA-F]{4})';
  const member =
    '(?:[^\\\\\\]\\-]|\\\\(?:[dDwWsSbtnvfr^$\\\\.*+?()\\[\\]{}|/-]|x[\\da-fA-F]{2}|u[\\da-fA-F]{4}))';
  const group = depth === 0 ? '' : `|\\((?:\\?(?:<?[=!]|:|<[A-Za-z_]\\w*>))?${expression(depth - 1)}\\)`;
  const atom = `(?:[^\\\\^$.*+?()\\[\\]{}|]|\\.|${escape}|\\[\\^?${member}*\\]${group})`;
  return `(?:[$^|]|${atom}(?:[*+?]\\??|\\{\\d{1,3}(?:,)?\\}\\??)?)*`;
}

const FORMATS: ReadonlyMap<string, () => Regex> = new Map([
  ['date', () => wholeRegex(DATE)],
  ['time', () => wholeRegex(TIME)],
  ['date-time', () => wholeRegex(`${DATE}[Tt]${TIME}`)],
  ['duration', () => wholeRegex(DURATION)],
  ['email', () => wholeRegex(EMAIL)],
  ['hostname', () => both(wholeRegex(HOST), ofLength(1, 253))],
  ['ipv4', () => wholeRegex(IPV4)],
  ['ipv6', () => wholeRegex(IPV6)],
  ['uuid', () => wholeRegex('[\\da-fA-F]{8}(?:-[\\da-fA-F]{4}){3}-[\\da-fA-F]{12}')],
  ['uri', () => wholeRegex(uri('', false))],
  ['uri-reference', () => wholeRegex(uri('', true))],
  ['iri', () => wholeRegex(uri(BEYOND_ASCII, false))],
  ['iri-reference', () => wholeRegex(uri(BEYOND_ASCII, true))],
  ['uri-template', () => wholeRegex(TEMPLATE)],
  ['json-pointer', () => wholeRegex(POINTER)],
  ['relative-json-pointer', () => wholeRegex(`(?:0|[1-9]\\d*)(?:#|${POINTER})`)],
  ['regex', () => wholeRegex(expression(3))],
]);

/** The texts of a format of draft 2020-12; undefined for an unknown one. */
export function formatRegex(name: string): Regex | undefined {
  return FORMATS.get(name)?.();
}
