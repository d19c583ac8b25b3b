import { LANGUAGE } from '../language.ts';
import { Wording } from '../wording.ts';

const wording = new Wording(LANGUAGE);

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB'];

/** Bytes in readable units: 17.5 MB. */
export function formatBytes(bytes: number): string {
  const power = Math.min(UNITS.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(1, bytes)) / 3)));
  const value = bytes / 1000 ** power;
  return `${wording.number(value, power === 0 || value >= 100 ? 0 : 1)} ${UNITS[power] ?? ''}`;
}

/** A rate given in billions of bytes per second. */
export function formatRate(gigabytesPerSecond: number): string {
  return gigabytesPerSecond >= 0.1
    ? `${wording.number(gigabytesPerSecond, 2)} GB/s`
    : `${formatBytes(gigabytesPerSecond * 1e9)}/s`;
}

/** `2 minutes ago`, in the page's language. */
export function formatAge(date: Date, now = Date.now()): string {
  const seconds = (date.getTime() - now) / 1000;
  const format = new Intl.RelativeTimeFormat(LANGUAGE, { numeric: 'auto' });
  const [unit, length] = AGES.find(([, limit]) => -seconds >= limit) ?? ['second', 1];
  return format.format(Math.round(seconds / length), unit);
}

const AGES: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
];
