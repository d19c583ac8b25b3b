const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const MONTHS = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
];
const DAY_MS = 86_400_000;

/** glibc's `strftime`, as used by Python, in the C locale and local time; unknown codes are unchanged. */
export function strftime(date: Date, format: string): string {
  return format.replace(/%(-?)([A-Za-z%])/g, (whole, minus: string, code: string) => {
    const text = field(date, code);
    if (text === undefined) return whole;
    return minus === '' ? text : text.replace(/^[0 ]+(?=\d)/, '');
  });
}

const two = (value: number) => String(value).padStart(2, '0');
const spaced = (value: number) => String(value).padStart(2, ' ');

type Field = (date: Date) => string;

const FIELDS: Readonly<Record<string, Field>> = {
  Y: (date) => String(date.getFullYear()),
  y: (date) => two(date.getFullYear() % 100),
  C: (date) => two(Math.floor(date.getFullYear() / 100)),
  m: (date) => two(date.getMonth() + 1),
  B: (date) => MONTHS[date.getMonth()] as string,
  b: (date) => (MONTHS[date.getMonth()] as string).slice(0, 3),
  h: (date) => (MONTHS[date.getMonth()] as string).slice(0, 3),
  d: (date) => two(date.getDate()),
  e: (date) => spaced(date.getDate()),
  j: (date) => String(dayOfYear(date)).padStart(3, '0'),
  A: (date) => DAYS[date.getDay()] as string,
  a: (date) => (DAYS[date.getDay()] as string).slice(0, 3),
  u: (date) => String(date.getDay() || 7),
  w: (date) => String(date.getDay()),
  U: (date) => two(Math.floor((dayOfYear(date) + 6 - date.getDay()) / 7)),
  W: (date) => two(Math.floor((dayOfYear(date) + 6 - ((date.getDay() + 6) % 7)) / 7)),
  V: (date) => two(isoWeek(date).week),
  G: (date) => String(isoWeek(date).year),
  H: (date) => two(date.getHours()),
  k: (date) => spaced(date.getHours()),
  I: (date) => two(date.getHours() % 12 || 12),
  l: (date) => spaced(date.getHours() % 12 || 12),
  p: (date) => (date.getHours() < 12 ? 'AM' : 'PM'),
  P: (date) => (date.getHours() < 12 ? 'am' : 'pm'),
  M: (date) => two(date.getMinutes()),
  S: (date) => two(date.getSeconds()),
  f: (date) => `${String(date.getMilliseconds()).padStart(3, '0')}000`,
  s: (date) => String(Math.floor(date.getTime() / 1000)),
  // The date has no time zone, like that of Python's `datetime.now()`.
  z: () => '',
  Z: () => '',
  n: () => '\n',
  t: () => '\t',
  '%': () => '%',
};

/** Codes that are abbreviations of others. */
const COMPOUND: Readonly<Record<string, string>> = {
  F: '%Y-%m-%d',
  T: '%H:%M:%S',
  X: '%H:%M:%S',
  D: '%m/%d/%y',
  x: '%m/%d/%y',
  R: '%H:%M',
  r: '%I:%M:%S %p',
  c: '%a %b %e %H:%M:%S %Y',
};

function field(date: Date, code: string): string | undefined {
  const compound = COMPOUND[code];
  return compound === undefined ? FIELDS[code]?.(date) : strftime(date, compound);
}

/** The ISO 8601 week of a date: that of its Thursday. */
function isoWeek(date: Date): { year: number; week: number } {
  const thursday = new Date(date.getFullYear(), date.getMonth(), date.getDate() + 4 - (date.getDay() || 7));
  return { year: thursday.getFullYear(), week: Math.ceil(dayOfYear(thursday) / 7) };
}

function dayOfYear(date: Date): number {
  const day = Date.UTC(date.getFullYear(), date.getMonth(), date.getDate());
  return (day - Date.UTC(date.getFullYear(), 0, 1)) / DAY_MS + 1;
}
