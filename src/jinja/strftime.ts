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

/** Python's `strftime` in the C locale and local time; codes that it does not know stay as they are. */
export function strftime(date: Date, format: string): string {
  return format.replace(/%(-?)([A-Za-z%])/g, (whole, minus: string, code: string) => {
    const text = field(date, code);
    if (text === undefined) return whole;
    return minus === '' ? text : text.replace(/^0+(?=\d)/, '');
  });
}

function field(date: Date, code: string): string | undefined {
  const two = (value: number) => String(value).padStart(2, '0');
  const hours = date.getHours();
  switch (code) {
    case 'Y':
      return String(date.getFullYear()).padStart(4, '0');
    case 'y':
      return two(date.getFullYear() % 100);
    case 'm':
      return two(date.getMonth() + 1);
    case 'B':
      return MONTHS[date.getMonth()];
    case 'b':
      return MONTHS[date.getMonth()]?.slice(0, 3);
    case 'd':
      return two(date.getDate());
    case 'j':
      return String(dayOfYear(date)).padStart(3, '0');
    case 'A':
      return DAYS[date.getDay()];
    case 'a':
      return DAYS[date.getDay()]?.slice(0, 3);
    case 'H':
      return two(hours);
    case 'I':
      return two(hours % 12 || 12);
    case 'p':
      return hours < 12 ? 'AM' : 'PM';
    case 'M':
      return two(date.getMinutes());
    case 'S':
      return two(date.getSeconds());
    case '%':
      return '%';
    default:
      return undefined;
  }
}

function dayOfYear(date: Date): number {
  const day = Date.UTC(date.getFullYear(), date.getMonth(), date.getDate());
  return (day - Date.UTC(date.getFullYear(), 0, 1)) / DAY_MS + 1;
}
