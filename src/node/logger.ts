import pino from 'pino';
import type { LogFields, Logger } from '../base/log.ts';

/** What a logger writes, and where. */
export interface LoggerOptions {
  /** The most verbose level that is logged. */
  readonly level: 'warn' | 'info' | 'debug' | 'trace';
  /** One JSON object per line instead of readable text. */
  readonly json?: boolean;
  /** Receives whole lines. Default: stderr. */
  readonly write?: (line: string) => void;
}

/** A logger based on pino. It writes synchronously, so that nothing is lost when the process ends. */
export function createLogger(options: LoggerOptions): Logger {
  const write = options.write ?? keepsWriting(process.stderr);
  const begin = performance.now();
  const target = options.json ? write : (line: string) => write(readable(line, performance.now() - begin));
  const log = pino(
    {
      level: options.level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    { write: target },
  );
  return {
    enabled: (level) => log.isLevelEnabled(level),
    warn: (message, fields) => log.warn(fields ?? {}, message),
    info: (message, fields) => log.info(fields ?? {}, message),
    debug: (message, fields) => log.debug(fields ?? {}, message),
    trace: (message, fields) => log.trace(fields ?? {}, message),
  };
}

/** Writes lines as long as possible: a full disk or a closed pipe must not end any work. */
function keepsWriting(stream: NodeJS.WriteStream): (line: string) => void {
  let lost = 0;
  stream.on('error', () => {
    lost++;
  });
  return (line) => {
    try {
      if (lost > 0) stream.write(`${lost} lines of the log could not be written\n`);
      lost = 0;
      stream.write(line);
    } catch {
      lost++;
    }
  };
}

/** pino's line as text: seconds since the start, level, message, fields. */
function readable(line: string, milliseconds: number): string {
  const { level, msg, time: _time, ...fields } = JSON.parse(line) as LogFields;
  const seconds = (milliseconds / 1000).toFixed(3).padStart(8);
  const pairs = Object.entries(fields).map(([key, value]) => ` ${key}=${fieldText(value)}`);
  return `${seconds}s ${String(level).padEnd(5)} ${String(msg)}${pairs.join('')}\n`;
}

function fieldText(value: unknown): string {
  if (typeof value === 'number')
    return String(Number.isInteger(value) ? value : Number(value.toPrecision(4)));
  if (typeof value === 'string' && /^[\w./:@+-]+$/.test(value)) return value;
  return JSON.stringify(value);
}
