/** Facts that go with a log line. */
export type LogFields = Readonly<Record<string, unknown>>;

/**
 * Where the parts of the engine say what they do. Passed in by options, never global. `enabled` lets a caller skip the
 * work of building fields. `debug` names phases (open, plan, load, prefill, decode); `trace` names every single step.
 */
export interface Logger {
  enabled(level: 'debug' | 'trace'): boolean;
  warn(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  debug(message: string, fields?: LogFields): void;
  trace(message: string, fields?: LogFields): void;
}

function ignore(): void {}

/** Says nothing. */
export const silentLogger: Logger = {
  enabled: () => false,
  warn: ignore,
  info: ignore,
  debug: ignore,
  trace: ignore,
};
